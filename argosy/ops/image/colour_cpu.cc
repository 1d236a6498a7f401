// Kernels: colours.
#include <algorithm>
#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/image/image_registration.h"

namespace argosy::image {

namespace {

template <typename T>
using Work = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename S>
struct Colour {
  S a, b, c;  // red, green, blue, or hue, saturation, value
};

template <typename S>
Colour<S> to_hsv(S r, S g, S b) {
  const S most = std::max({r, g, b}), range = most - std::min({r, g, b});
  const S saturation = most > 0 ? range / most : S(0);
  S hue = 0;
  if (range > 0) {
    const S norm = S(1) / (S(6) * range);
    hue = r == most ? norm * (g - b) : g == most ? norm * (b - r) + S(2) / S(6) : norm * (r - g) + S(4) / S(6);
    if (hue < 0) hue += 1;
  }
  return {hue, saturation, most};
}

template <typename S>
Colour<S> to_rgb(S hue, S saturation, S value) {
  const auto unit = [](S v) { return std::clamp(v, S(0), S(1)); };
  const S h = hue * 6;
  const S r = unit(std::abs(h - 3) - 1), g = unit(2 - std::abs(h - 2)), b = unit(2 - std::abs(h - 4));
  const S rest = 1 - saturation;
  return {(rest + saturation * r) * value, (rest + saturation * g) * value, (rest + saturation * b) * value};
}

Status three_channels(const Tensor& x, std::string_view op) {
  if (x.shape().rank() >= 1 && x.shape().back() == 3) return ok_status();
  if (x.shape().rank() == 0) return invalid_argument(op, ": input must be at least 1D");
  const Code code = op.starts_with("Adjust") ? Code::kInvalidArgument : Code::kFailedPrecondition;
  return Status(code, str_cat(op, ": the last axis must be 3 channels, not of shape ", x.shape()));
}

// Every pixel through fn(a, b, c).
template <typename Types, typename Fn>
Status each_pixel(KernelContext& c, std::string_view op, Fn&& fn) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(three_channels(x, op));
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

Result<float> factor(const KernelContext& c, int i, std::string_view what) {
  if (c.input(i).shape().rank() != 0) {
    return invalid_argument(what, " must be a scalar, not of shape ", c.input(i).shape());
  }
  return *c.input(i).data<float>();
}
Status at_least_3d(const Tensor& x) {
  return x.shape().rank() >= 3 ? ok_status() : invalid_argument("input must be at least 3-D, got shape ", x.shape());
}

using Halves = TypeList<float, float16>;

Status adjust_hue(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(at_least_3d(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const float delta, factor(c, 1, "delta"));
  return each_pixel<Halves>(c, "AdjustHue", [&](float r, float g, float b) {
    const Colour<float> hsv = to_hsv(r, g, b);
    const float turned = hsv.a + delta;
    return to_rgb(turned - std::floor(turned), hsv.b, hsv.c);
  });
}

Status adjust_saturation(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(at_least_3d(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const float scale, factor(c, 1, "scale"));
  return each_pixel<Halves>(c, "AdjustSaturation", [&](float r, float g, float b) {
    const Colour<float> hsv = to_hsv(r, g, b);
    return to_rgb(hsv.a, std::clamp(hsv.b * scale, 0.0f, 1.0f), hsv.c);
  });
}

// Around the mean of each channel of each image; what `limit` makes of it.
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
  ARGOSY_RETURN_IF_ERROR(at_least_3d(x));
  ARGOSY_ASSIGN_OR_RETURN(const float scale, factor(c, 1, "contrast_factor"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  return dispatch<Halves>(x.dtype(), "AdjustContrastv2", [&]<typename T>() {
    contrast<T, T>(x, *y, scale, [](float v) { return v; });
    return ok_status();
  });
}

Status adjust_contrast_v1(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_RETURN_IF_ERROR(at_least_3d(x));
  ARGOSY_ASSIGN_OR_RETURN(const float scale, factor(c, 1, "contrast_factor"));
  ARGOSY_ASSIGN_OR_RETURN(const float low, factor(c, 2, "min_value"));
  ARGOSY_ASSIGN_OR_RETURN(const float high, factor(c, 3, "max_value"));
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
