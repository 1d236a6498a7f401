// One axis of a convolution or pooling in the form that cuDNN takes.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <optional>

#include "argosy/ops/conv/window.h"

namespace argosy::cuda {

struct DnnAxis {
  int in = 0, window = 0, out = 0, pad = 0, pad_after = 0, stride = 1, dilation = 1;
  auto operator<=>(const DnnAxis&) const = default;
};

// True if equal padding at both ends gives the same windows. Pooling in cuDNN takes one number of padding, and computes
// the number of windows. Convolutions with equal padding have more engines.
inline bool pads_alike(const WindowAxis& a) {
  const std::int64_t reach = (a.window - 1) * a.dilation + 1, padded = a.in + 2 * a.pad_before;
  return padded >= reach && (padded - reach) / a.stride + 1 == a.out;
}

// nullopt if a number is negative or does not fit an int.
inline std::optional<DnnAxis> dnn_axis(const WindowAxis& a) {
  // The padding that the last window reads. TensorFlow's SAME may have more than that.
  const std::int64_t missing = (a.out - 1) * a.stride + (a.window - 1) * a.dilation + 1 - a.in - a.pad_before;
  const std::int64_t after = pads_alike(a) ? a.pad_before : std::max<std::int64_t>(missing, 0);
  for (const std::int64_t v : {a.in, a.window, a.out, a.pad_before, after, a.stride, a.dilation}) {
    if (v > std::numeric_limits<int>::max() || v < 0) return std::nullopt;
  }
  return DnnAxis{.in = static_cast<int>(a.in),
                 .window = static_cast<int>(a.window),
                 .out = static_cast<int>(a.out),
                 .pad = static_cast<int>(a.pad_before),
                 .pad_after = static_cast<int>(after),
                 .stride = static_cast<int>(a.stride),
                 .dilation = static_cast<int>(a.dilation)};
}

}  // namespace argosy::cuda
