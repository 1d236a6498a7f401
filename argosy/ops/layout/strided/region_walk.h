// Iterates over a Region in row-major order, after dropping and merging axes. Private to kernels.
#pragma once

#include <array>

#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

struct Axis {
  std::int64_t size, to, from;
};

// The axes of a Region. Axes of size 1 are dropped; neighbours that one stride describes are merged. Each remaining
// axis has two elements or more, so a region below 2^63 elements has fewer than 64.
struct RegionAxes {
  std::array<Axis, 64> axis;
  int n = 0;
  bool nothing = false;  // some axis has no elements

  // Strides are multiplied by `scale`: the bytes of an element, or 1.
  RegionAxes(const Region& region, std::int64_t scale) {
    for (int i = 0; i < region.sizes.size(); ++i) {
      const Axis next{region.sizes[i], region.to[i] * scale, region.from[i] * scale};
      if (next.size == 0) nothing = true;
      if (next.size <= 1) continue;
      Axis* last = n > 0 ? &axis[n - 1] : nullptr;
      if (last && last->to == next.size * next.to && last->from == next.size * next.from) {
        *last = {last->size * next.size, next.to, next.from};
      } else {
        ARGOSY_CHECK(n < 64);
        axis[n++] = next;
      }
    }
  }
  void remove(int i) {
    for (; i + 1 < n; ++i) axis[i] = axis[i + 1];
    --n;
  }
  std::int64_t product() const {
    std::int64_t p = 1;
    for (int i = 0; i < n; ++i) p *= axis[i].size;
    return p;
  }
};

// Calls fn(to, from) for positions [begin, end) of the axes, in row-major order.
template <typename To, typename Fn>
void walk(const RegionAxes& axes, To* to, const To* from, std::int64_t begin, std::int64_t end, Fn&& fn) {
  std::array<std::int64_t, 64> at;
  std::int64_t rest = begin;
  for (int i = axes.n - 1; i >= 0; --i) {
    at[i] = rest % axes.axis[i].size;
    rest /= axes.axis[i].size;
    to += at[i] * axes.axis[i].to;
    from += at[i] * axes.axis[i].from;
  }
  for (std::int64_t position = begin; position < end; ++position) {
    fn(to, from);
    for (int i = axes.n - 1; i >= 0; --i) {
      to += axes.axis[i].to;
      from += axes.axis[i].from;
      if (++at[i] < axes.axis[i].size) break;
      to -= axes.axis[i].size * axes.axis[i].to;
      from -= axes.axis[i].size * axes.axis[i].from;
      at[i] = 0;
    }
  }
}

}  // namespace argosy
