// Conversions between RGB and HSV, all in [0, 1] (A. R. Smith, "Color gamut transform pairs", 1978). Compiled for the
// CPU and, by nvcc, for GPUs. Private to this folder.
//
// Math: the device's max3, min3, abs, and unit, which clamps to [0, 1]. CPU and GPU differ on NaN.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::hsv {

template <typename S>
struct Colour {
  S a, b, c;  // red, green, blue, or hue, saturation, value
};

template <typename Math, typename S>
ARGOSY_DEVICE Colour<S> to_hsv(S r, S g, S b) {
  const S most = Math::max3(r, g, b), range = most - Math::min3(r, g, b);
  const S saturation = most > 0 ? range / most : S(0);
  S hue = 0;
  if (range > 0) {
    const S norm = S(1) / (S(6) * range);
    hue = r == most ? norm * (g - b) : g == most ? norm * (b - r) + S(2) / S(6) : norm * (r - g) + S(4) / S(6);
    if (hue < 0) hue += 1;
  }
  return {hue, saturation, most};
}

template <typename Math, typename S>
ARGOSY_DEVICE Colour<S> to_rgb(S hue, S saturation, S value) {
  const S h = hue * 6, rest = 1 - saturation;
  const S r = Math::unit(Math::abs(h - 3) - 1), g = Math::unit(2 - Math::abs(h - 2)),
          b = Math::unit(2 - Math::abs(h - 4));
  return {(rest + saturation * r) * value, (rest + saturation * g) * value, (rest + saturation * b) * value};
}

}  // namespace argosy::hsv
