#include "argosy/formats/events/image_scaling.h"

#include <algorithm>
#include <cmath>

namespace argosy::tf {

namespace {

// Every step in T, as TensorFlow: half precision rounds after each.
template <typename T>
void scale(const Tensor& image, std::span<const std::uint8_t> bad_color, const Tensor& bytes) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::int64_t channels = image.shape().back();
  const std::int64_t pixels = channels == 0 ? 0 : image.elements() / channels;
  const T* const from = image.data<T>();
  const auto finite = [&](std::int64_t pixel) {
    return std::all_of(from + pixel * channels, from + (pixel + 1) * channels,
                       [](T v) { return std::isfinite(static_cast<Wide>(v)); });
  };
  Wide low = INFINITY;
  Wide high = -INFINITY;
  for (std::int64_t p = 0; p < pixels; ++p) {
    if (!finite(p)) continue;
    for (std::int64_t c = 0; c < channels; ++c) {
      low = std::min(low, static_cast<Wide>(from[p * channels + c]));
      high = std::max(high, static_cast<Wide>(from[p * channels + c]));
    }
  }
  const auto nothing = static_cast<Wide>(T(1e-6f));  // a range below this is painted flat
  T factor(0);
  T offset(0);
  if (low < 0) {
    const Wide magnitude = std::max(std::abs(low), std::abs(high));
    factor = magnitude < nothing ? T(0) : T(Wide(127) / magnitude);
    offset = T(128);
  } else {
    factor = high < nothing ? T(0) : T(Wide(255) / high);
  }
  auto* to = bytes.data<std::uint8_t>();
  for (std::int64_t p = 0; p < pixels; ++p) {
    const bool good = finite(p);
    for (std::int64_t c = 0; c < channels; ++c) {
      if (!good) {
        to[p * channels + c] = bad_color[static_cast<std::size_t>(c)];
        continue;
      }
      const T scaled = T(static_cast<Wide>(from[p * channels + c]) * static_cast<Wide>(factor));
      const T value = T(static_cast<Wide>(scaled) + static_cast<Wide>(offset));
      to[p * channels + c] = static_cast<std::uint8_t>(std::clamp(static_cast<Wide>(value), Wide(0), Wide(255)));
    }
  }
}

}  // namespace

Tensor scale_image(const Tensor& image, std::span<const std::uint8_t> bad_color) {
  Tensor bytes = Tensor::zeros(DType::kUint8, image.shape());
  const Status done = dispatch<FloatTypes>(image.dtype(), "scale_image", [&]<typename T>() {
    scale<T>(image, bad_color, bytes);
    return ok_status();
  });
  ARGOSY_CHECK(done.ok());
  return bytes;
}

}  // namespace argosy::tf
