// The positions of windows along one axis. Private to this folder.
#pragma once

#include <algorithm>

#include "argosy/base/status.h"

namespace argosy {

// Windows along an axis of `size` elements: `count` windows, `stride` apart, the first at -before. Each has `window`
// elements, `rate` apart.
struct Windows {
  std::int64_t size = 0, window = 1, stride = 1, rate = 1;
  std::int64_t count = 0, before = 0;

  std::int64_t reach() const { return (window - 1) * rate + 1; }
  void place(bool same) {
    if (same) {
      count = (size + stride - 1) / stride;
      before = std::max<std::int64_t>((count - 1) * stride + reach() - size, 0) / 2;
    } else {
      count = size < reach() ? 0 : (size - reach()) / stride + 1;
      before = 0;
    }
  }
  std::int64_t at(std::int64_t i, std::int64_t k) const { return i * stride + k * rate - before; }
};

}  // namespace argosy
