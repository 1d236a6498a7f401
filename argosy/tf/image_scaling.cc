#include "argosy/tf/image_scaling.h"

#include <algorithm>
#include <cmath>

namespace argosy::tf {

Tensor scale_picture(const Tensor& picture, std::span<const std::uint8_t> bad_color) {
  const std::int64_t channels = picture.shape().back();
  const std::int64_t pixels = channels == 0 ? 0 : picture.elements() / channels;
  const auto* from = picture.data<float>();
  const auto finite = [&](std::int64_t pixel) {
    return std::all_of(from + pixel * channels, from + (pixel + 1) * channels,
                       [](float v) { return std::isfinite(v); });
  };
  float low = INFINITY;
  float high = -INFINITY;
  for (std::int64_t p = 0; p < pixels; ++p) {
    if (!finite(p)) continue;
    for (std::int64_t c = 0; c < channels; ++c) {
      low = std::min(low, from[p * channels + c]);
      high = std::max(high, from[p * channels + c]);
    }
  }
  constexpr float kNothing = 1e-6f;  // a range below this is painted flat
  float scale = 0;
  float offset = 0;
  if (low < 0) {
    const float magnitude = std::max(std::abs(low), std::abs(high));
    scale = magnitude < kNothing ? 0.0f : 127.0f / magnitude;
    offset = 128.0f;
  } else {
    scale = high < kNothing ? 0.0f : 255.0f / high;
  }
  Tensor bytes = Tensor::zeros(DType::kUint8, picture.shape());
  auto* to = bytes.data<std::uint8_t>();
  for (std::int64_t p = 0; p < pixels; ++p) {
    const bool good = finite(p);
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = good ? from[p * channels + c] * scale + offset : bad_color[static_cast<std::size_t>(c)];
      to[p * channels + c] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
    }
  }
  return bytes;
}

}  // namespace argosy::tf
