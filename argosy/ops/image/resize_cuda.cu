// Resizing and its gradients, by the rules of resize_cpu.cc. One thread computes a pixel and channel of the result. For
// gradients, each source pixel gathers its sum, so that sums are deterministic.
#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda {

// One axis of both images: positions of pixels of the new image in the old one.
struct ResizeAxis {
  i64 from, to;
  f32 scale;

  // The same bits as on the CPU: which pixel is nearest must not depend on rounding.
  ARGOSY_DEVICE f32 place(i64 i, int centers) const {
    const f32 at = static_cast<f32>(i);
    if (!centers) return at * scale;
#if defined(__CUDACC__)
    return __fadd_rn(__fmul_rn(at + 0.5f, scale), -0.5f);
#else
    return (at + 0.5f) * scale - 0.5f;
#endif
  }
  ARGOSY_DEVICE i64 held(f32 at) const {
    const i64 i = static_cast<i64>(at);
    return i < 0 ? 0 : i >= from ? from - 1 : i;
  }
  ARGOSY_DEVICE i64 nearest(i64 i, int corners, int centers) const {
    const f32 place = (static_cast<f32>(i) + (centers ? 0.5f : 0.0f)) * scale;
    return held(corners ? ::round(place) : ::floor(place));
  }
  // Sets a range [first, last) that contains all new pixels less than 1 away from old pixel k, or nearest to it.
  ARGOSY_DEVICE void near(i64 k, i64* first, i64* last) const {
    *first = 0;
    *last = to;
    if (!(scale > 0)) return;
    const f32 low = ::floor(static_cast<f32>(k - 1) / scale) - 2.0f,
              high = ::ceil(static_cast<f32>(k + 2) / scale) + 2.0f;
    if (low > 0.0f && k < from) *first = static_cast<i64>(low) < to ? static_cast<i64>(low) : to;
    if (k < from - 1 && high < static_cast<f32>(to)) *last = static_cast<i64>(high);
  }
};
struct Resize {
  ResizeAxis rows, columns;
  i64 channels;
  int corners, centers;
};

// The two old pixels next to a new one; `part`: the weight of the second.
struct Beside {
  i64 low, high;
  f32 part;
};
ARGOSY_DEVICE Beside beside(const ResizeAxis& axis, i64 i, int centers) {
  const f32 place = axis.place(i, centers), below = ::floor(place);
  return {axis.held(below), axis.held(::ceil(place)), place - below};
}
// Returns the weight of old pixel k in new pixel i.
ARGOSY_DEVICE f32 share(const ResizeAxis& axis, i64 i, i64 k, int centers) {
  const Beside b = beside(axis, i, centers);
  return (b.low == k ? 1.0f - b.part : 0.0f) + (b.high == k ? b.part : 0.0f);
}

template <typename T>
ARGOSY_DEVICE void bilinear(i64 n, const T* x, f32* y, const Resize& r) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % r.channels, column = i / r.channels % r.columns.to,
              line = i / r.channels / r.columns.to;  // of all images
    const i64 image = line / r.rows.to;
    const Beside across = beside(r.columns, column, r.centers), down = beside(r.rows, line % r.rows.to, r.centers);
    f32 sums[2];
    for (int k = 0; k < 2; ++k) {
      const i64 row = image * r.rows.from + (k == 0 ? down.low : down.high);
      const f32 low = static_cast<f32>(load(x, (row * r.columns.from + across.low) * r.channels + channel)),
                high = static_cast<f32>(load(x, (row * r.columns.from + across.high) * r.channels + channel));
      sums[k] = low + (high - low) * across.part;
    }
    y[i] = sums[0] + (sums[1] - sums[0]) * down.part;
  }
}

template <typename T>
ARGOSY_DEVICE void bilinear_back(i64 n, const f32* dy, T* dx, const Resize& r) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % r.channels, column = i / r.channels % r.columns.from,
              line = i / r.channels / r.columns.from;
    const i64 image = line / r.rows.from, row = line % r.rows.from;
    i64 top, bottom, left, right;
    r.rows.near(row, &top, &bottom);
    r.columns.near(column, &left, &right);
    typename Wide<T>::Type sum = 0;
    for (i64 a = top; a < bottom; ++a) {
      const f32 down = share(r.rows, a, row, r.centers);
      if (down == 0.0f) continue;
      const f32* const from = dy + ((image * r.rows.to + a) * r.columns.to) * r.channels + channel;
      for (i64 b = left; b < right; ++b) {
        const f32 across = share(r.columns, b, column, r.centers);
        if (across != 0.0f) sum += static_cast<typename Wide<T>::Type>(from[b * r.channels]) * down * across;
      }
    }
    store(dx, i, static_cast<Compute<T>>(sum));
  }
}

template <typename B>
ARGOSY_DEVICE void nearest(i64 n, const B* x, B* y, const Resize& r) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % r.channels, column = i / r.channels % r.columns.to, line = i / r.channels / r.columns.to;
    const i64 row = line / r.rows.to * r.rows.from + r.rows.nearest(line % r.rows.to, r.corners, r.centers);
    y[i] = x[(row * r.columns.from + r.columns.nearest(column, r.corners, r.centers)) * r.channels + channel];
  }
}

template <typename T>
ARGOSY_DEVICE void nearest_back(i64 n, const T* dy, T* dx, const Resize& r) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const i64 channel = i % r.channels, column = i / r.channels % r.columns.from,
              line = i / r.channels / r.columns.from;
    const i64 image = line / r.rows.from, row = line % r.rows.from;
    i64 top, bottom, left, right;
    r.rows.near(row, &top, &bottom);
    r.columns.near(column, &left, &right);
    typename Wide<T>::Type sum = 0;
    for (i64 a = top; a < bottom; ++a) {
      if (r.rows.nearest(a, r.corners, r.centers) != row) continue;
      for (i64 b = left; b < right; ++b) {
        if (r.columns.nearest(b, r.corners, r.centers) != column) continue;
        sum += load(dy, ((image * r.rows.to + a) * r.columns.to + b) * r.channels + channel);
      }
    }
    store(dx, i, static_cast<Compute<T>>(sum));
  }
}

#define ARGOSY_NEAREST(B) \
  ARGOSY_KERNEL(resize_nearest_##B, i64 n, const B* x, B* y, Resize r) { nearest(n, x, y, r); }
ARGOSY_NEAREST(b1)
ARGOSY_NEAREST(b2)
ARGOSY_NEAREST(b4)
ARGOSY_NEAREST(b8)
#undef ARGOSY_NEAREST

#define ARGOSY_RESIZE(T)                                                                                          \
  ARGOSY_KERNEL(resize_bilinear_##T, i64 n, const T* x, f32* y, Resize r) { bilinear(n, x, y, r); }               \
  ARGOSY_KERNEL(resize_bilinear_back_##T, i64 n, const f32* dy, T* dx, Resize r) { bilinear_back(n, dy, dx, r); } \
  ARGOSY_KERNEL(resize_nearest_back_##T, i64 n, const T* dy, T* dx, Resize r) { nearest_back(n, dy, dx, r); }
ARGOSY_RESIZE(f32)
ARGOSY_RESIZE(f64)
ARGOSY_RESIZE(f16)
ARGOSY_RESIZE(bf16)
#undef ARGOSY_RESIZE
ARGOSY_KERNEL(resize_bilinear_u8, i64 n, const u8* x, f32* y, Resize r) { bilinear(n, x, y, r); }

}  // namespace argosy::cuda
