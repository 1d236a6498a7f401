// The cells of one window. Private to this folder's kernels.
#pragma once

#include "argosy/ops/volume/geometry.h"

namespace argosy::volume {

// fn(cell of the input's volume, cell of the window) for the cells of window `i` (in row-major order) that lie inside.
template <typename Fn>
void for_window(const Geometry& g, std::int64_t i, Fn&& fn) {
  const auto& [d, h, w] = g.axes;
  const std::int64_t at_w = i % w.count, at_h = i / w.count % h.count, at_d = i / w.count / h.count;
  std::int64_t cell = 0;
  for (std::int64_t a = 0; a < d.window; ++a) {
    const std::int64_t p = d.at(at_d, a);
    for (std::int64_t b = 0; b < h.window; ++b) {
      const std::int64_t q = h.at(at_h, b);
      for (std::int64_t k = 0; k < w.window; ++k, ++cell) {
        const std::int64_t r = w.at(at_w, k);
        if (p < 0 || p >= d.size || q < 0 || q >= h.size || r < 0 || r >= w.size) continue;
        fn((p * h.size + q) * w.size + r, cell);
      }
    }
  }
}

}  // namespace argosy::volume
