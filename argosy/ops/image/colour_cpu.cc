// Kernels: colours.
#include <algorithm>
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/hsv.h"
#include "argosy/ops/image/image_checks.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

template <typename T>
using Work = std::conditional_t<std::is_same_v<T, double>, double, float>;

using hsv::Colour;

struct Math {
  template <typename S>
  static S max3(S a, S b, S c) {
    return std::max({a, b, c});
  }
  template <typename S>
  static S min3(S a, S b, S c) {
    return std::min({a, b, c});
  }
  template <typename S>
  static S abs(S v) {
    return std::abs(v);
  }
  template <typename S>
  static S unit(S v) {
    return std::clamp(v, S(0), S(1));
  }
};

template <typename S>
Colour<S> to_hsv(S r, S g, S b) {
  return hsv::to_hsv<Math>(r, g, b);
}
template <typename S>
Colour<S> to_rgb(S hue, S saturation, S value) {
  return hsv::to_rgb<Math>(hue, saturation, value);
}

// Every pixel through fn(a, b, c).
template <typename Types, typename Fn>
Status each_pixel(KernelContext& c, std::string_view op, Fn&& fn) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_three_channels(x.shape(), op));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  return dispatch<Types>(x.dtype(), op, [&]<typename T>() {
    using S = Work<T>;
    const T* const from = x.data<T>();
    T* const to = y->data<T>();
    parallel_for(x.elements() / 3, 2048, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 3 * begin; i < 3 * end; i += 3) {
        const Colour<S> out = fn(static_cast<S>(from[i]), static_cast<S>(from[i + 1]), static_cast<S>(from[i + 2]));
        to[i] = T(out.a);
        to[i + 1] = T(out.b);
        to[i + 2] = T(out.c);
      }
    });
    return ok_status();
  });
}

Status rgb_to_hsv(KernelContext& c) {
  return each_pixel<FloatTypes>(c, "RGBToHSV", [](auto r, auto g, auto b) { return to_hsv(r, g, b); });
}
Status hsv_to_rgb(KernelContext& c) {
  return each_pixel<FloatTypes>(c, "HSVToRGB", [](auto h, auto s, auto v) { return to_rgb(h, s, v); });
}

using Halves = TypeList<float, float16>;

Status adjust_hue(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {"delta"}));
  const float delta = *c.input(1).data<float>();
  return each_pixel<Halves>(c, "AdjustHue", [&](float r, float g, float b) {
    const Colour<float> colour = to_hsv(r, g, b);
    const float turned = colour.a + delta;
    return to_rgb(turned - std::floor(turned), colour.b, colour.c);
  });
}

Status adjust_saturation(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {"scale"}));
  const float scale = *c.input(1).data<float>();
  return each_pixel<Halves>(c, "AdjustSaturation", [&](float r, float g, float b) {
    const Colour<float> colour = to_hsv(r, g, b);
    return to_rgb(colour.a, std::clamp(colour.b * scale, 0.0f, 1.0f), colour.c);
  });
}

// AdjustContrast: scales the distance from the mean of each channel of each image; `limit` clamps the result.
template <typename To, typename T, typename Limit>
void contrast(const Tensor& x, const Tensor& y, float scale, Limit&& limit) {
  const std::int64_t channels = x.shape().back();
  const std::int64_t pixels = x.shape()[x.shape().rank() - 3] * x.shape()[x.shape().rank() - 2];
  if (x.elements() == 0) return;
  for (std::int64_t at = 0; at < x.elements(); at += pixels * channels) {
    for (std::int64_t ch = 0; ch < channels; ++ch) {
      double sum = 0;
      for (std::int64_t i = 0; i < pixels; ++i)
        sum += static_cast<double>(static_cast<float>(x.data<T>()[at + i * channels + ch]));
      const auto mean = static_cast<float>(sum / static_cast<double>(pixels));
      for (std::int64_t i = 0; i < pixels; ++i) {
        const std::int64_t k = at + i * channels + ch;
        y.data<To>()[k] = To(limit((static_cast<float>(x.data<T>()[k]) - mean) * scale + mean));
      }
    }
  }
}

Status adjust_contrast(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {"contrast_factor"}));
  const float scale = *c.input(1).data<float>();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  return dispatch<Halves>(x.dtype(), "AdjustContrastv2", [&]<typename T>() {
    contrast<T, T>(x, *y, scale, [](float v) { return v; });
    return ok_status();
  });
}

Status adjust_contrast_v1(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(check_adjusted(c, {"contrast_factor", "min_value", "max_value"}));
  const float scale = *c.input(1).data<float>(), low = *c.input(2).data<float>(), high = *c.input(3).data<float>();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  using Types = TypeList<float, double, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
  return dispatch<Types>(x.dtype(), "AdjustContrast", [&]<typename T>() {
    contrast<float, T>(x, *y, scale, [&](float v) { return std::max(std::min(v, high), low); });
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_colour(KernelRegistry& kernels) {
  kernels.add("RGBToHSV", "cpu", rgb_to_hsv);
  kernels.add("HSVToRGB", "cpu", hsv_to_rgb);
  kernels.add("AdjustHue", "cpu", adjust_hue);
  kernels.add("AdjustSaturation", "cpu", adjust_saturation);
  kernels.add("AdjustContrastv2", "cpu", adjust_contrast);
  kernels.add("AdjustContrast", "cpu", adjust_contrast_v1);
}

}  // namespace argosy::image
