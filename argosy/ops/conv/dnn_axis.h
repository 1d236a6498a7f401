// Windows over one axis of an image as cuDNN is told of them.
#pragma once

#include <compare>
#include <limits>
#include <optional>

#include "argosy/ops/conv/window.h"

namespace argosy::cuda {

struct DnnAxis {
  int in = 0, window = 0, out = 0, pad = 0, stride = 1, dilation = 1;
  auto operator<=>(const DnnAxis&) const = default;
};

// The library pads both ends alike, and finds the number of windows itself: does that give these?
inline bool pads_alike(const WindowAxis& a) {
  const std::int64_t reach = (a.window - 1) * a.dilation + 1, padded = a.in + 2 * a.pad_before;
  return padded >= reach && (padded - reach) / a.stride + 1 == a.out;
}

// No value where a number is beyond int.
inline std::optional<DnnAxis> dnn_axis(const WindowAxis& a) {
  for (const std::int64_t v : {a.in, a.window, a.out, a.pad_before, a.stride, a.dilation}) {
    if (v > std::numeric_limits<int>::max() || v < 0) return std::nullopt;
  }
  return DnnAxis{.in = static_cast<int>(a.in),
                 .window = static_cast<int>(a.window),
                 .out = static_cast<int>(a.out),
                 .pad = static_cast<int>(a.pad_before),
                 .stride = static_cast<int>(a.stride),
                 .dilation = static_cast<int>(a.dilation)};
}

}  // namespace argosy::cuda
