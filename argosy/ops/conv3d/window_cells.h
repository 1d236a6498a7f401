// Iterates over the cells of one window. Private to this folder's kernels.
#pragma once

#include "argosy/ops/conv3d/conv3d_geometry.h"

namespace argosy::windows3d {

// Calls fn(input cell, window cell) for each cell of window `i` (in row-major order) that lies inside the input. Both
// are indices: in the input's volume, and in the window.
template <typename Fn>
void for_window(const Geometry& g, std::int64_t i, Fn&& fn) {
  const auto& [d, h, w] = g.axes;
  const std::int64_t at[3] = {i / w.count / h.count, i / w.count % h.count, i % w.count};
  // Visits only the cells inside: a window may be far larger than its volume.
  std::int64_t first[3], last[3];
  for (std::size_t k = 0; k < 3; ++k) {
    const Windows& axis = g.axes[k];
    const std::int64_t start = axis.at(at[k], 0);
    first[k] = start >= 0 ? 0 : (-start + axis.rate - 1) / axis.rate;
    last[k] = start >= axis.size ? -1 : std::min(axis.window - 1, (axis.size - 1 - start) / axis.rate);
  }
  for (std::int64_t a = first[0]; a <= last[0]; ++a) {
    for (std::int64_t b = first[1]; b <= last[1]; ++b) {
      for (std::int64_t k = first[2]; k <= last[2]; ++k) {
        fn((d.at(at[0], a) * h.size + h.at(at[1], b)) * w.size + w.at(at[2], k), (a * h.window + b) * w.window + k);
      }
    }
  }
}

}  // namespace argosy::windows3d
