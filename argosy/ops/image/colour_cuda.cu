// Colours: a thread a pixel; contrasts by a block for each channel of each image.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/image/hsv.h"

namespace argosy::cuda {

using hsv::Colour;

template <typename S>
ARGOSY_DEVICE S held(S v, S low, S high) {
  return v < low ? low : v > high ? high : v;
}

struct Math {
  template <typename S>
  static ARGOSY_DEVICE S max3(S a, S b, S c) {
    return ::fmax(a, ::fmax(b, c));
  }
  template <typename S>
  static ARGOSY_DEVICE S min3(S a, S b, S c) {
    return ::fmin(a, ::fmin(b, c));
  }
  template <typename S>
  static ARGOSY_DEVICE S abs(S v) {
    return ::fabs(v);
  }
  template <typename S>
  static ARGOSY_DEVICE S unit(S v) {
    return held(v, S(0), S(1));
  }
};

template <typename S>
ARGOSY_DEVICE Colour<S> to_hsv(S r, S g, S b) {
  return hsv::to_hsv<Math>(r, g, b);
}
template <typename S>
ARGOSY_DEVICE Colour<S> to_rgb(S hue, S saturation, S value) {
  return hsv::to_rgb<Math>(hue, saturation, value);
}

struct ToHsv {
  template <typename S>
  static ARGOSY_DEVICE Colour<S> call(S r, S g, S b, const f32*) {
    return to_hsv(r, g, b);
  }
};
struct ToRgb {
  template <typename S>
  static ARGOSY_DEVICE Colour<S> call(S h, S s, S v, const f32*) {
    return to_rgb(h, s, v);
  }
};
struct TurnHue {
  template <typename S>
  static ARGOSY_DEVICE Colour<S> call(S r, S g, S b, const f32* delta) {
    const Colour<S> colour = to_hsv(r, g, b);
    const S turned = colour.a + *delta;
    return to_rgb(turned - ::floor(turned), colour.b, colour.c);
  }
};
struct Saturate {
  template <typename S>
  static ARGOSY_DEVICE Colour<S> call(S r, S g, S b, const f32* scale) {
    const Colour<S> colour = to_hsv(r, g, b);
    return to_rgb(colour.a, held(colour.b * *scale, S(0), S(1)), colour.c);
  }
};

template <typename F, typename T>
ARGOSY_DEVICE void each_pixel(i64 pixels, const T* x, T* y, const f32* by) {
  for (i64 i = first_index(); i < pixels; i += index_step()) {
    const Colour<Compute<T>> out = F::call(load(x, 3 * i), load(x, 3 * i + 1), load(x, 3 * i + 2), by);
    store(y, 3 * i, out.a);
    store(y, 3 * i + 1, out.b);
    store(y, 3 * i + 2, out.c);
  }
}

// Around the mean of each channel of each image. May be in place.
template <typename T>
ARGOSY_DEVICE void contrast(i64 images, i64 pixels, i64 channels, const T* x, T* y, const f32* factor) {
  ARGOSY_SHARED f32 scratch[32];
  for (i64 one = blockIdx.x; one < images * channels; one += gridDim.x) {
    const i64 at = one / channels * pixels * channels + one % channels;
    f32 sum = 0;
    for (i64 i = threadIdx.x; i < pixels; i += blockDim.x) sum += load(x, at + i * channels);
    sum = block_reduce(sum, scratch, [](f32 a, f32 b) { return a + b; });
    const f32 mean = sum / static_cast<f32>(pixels);
    for (i64 i = threadIdx.x; i < pixels; i += blockDim.x) {
      store(y, at + i * channels, (load(x, at + i * channels) - mean) * *factor + mean);
    }
  }
}

#define ARGOSY_PIXELS(T)                                                                                    \
  ARGOSY_KERNEL(rgb_to_hsv_##T, i64 n, const T* x, T* y, const f32* by) { each_pixel<ToHsv>(n, x, y, by); } \
  ARGOSY_KERNEL(hsv_to_rgb_##T, i64 n, const T* x, T* y, const f32* by) { each_pixel<ToRgb>(n, x, y, by); }
ARGOSY_PIXELS(f32)
ARGOSY_PIXELS(f64)
ARGOSY_PIXELS(f16)
ARGOSY_PIXELS(bf16)
#undef ARGOSY_PIXELS
#define ARGOSY_ADJUST(T)                                                                                              \
  ARGOSY_KERNEL(adjust_hue_##T, i64 n, const T* x, T* y, const f32* by) { each_pixel<TurnHue>(n, x, y, by); }         \
  ARGOSY_KERNEL(adjust_saturation_##T, i64 n, const T* x, T* y, const f32* by) { each_pixel<Saturate>(n, x, y, by); } \
  ARGOSY_KERNEL(adjust_contrast_##T, i64 images, i64 pixels, i64 channels, const T* x, T* y, const f32* factor) {     \
    contrast(images, pixels, channels, x, y, factor);                                                                 \
  }
ARGOSY_ADJUST(f32)
ARGOSY_ADJUST(f16)
#undef ARGOSY_ADJUST

}  // namespace argosy::cuda
