// Convolutions without a library: the last kernels of the list. Forward, and for the gradient of the image, one thread
// computes an element. For the gradient of the filter, a block computes an element, and its threads share the patches.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/conv/gpu/windows_cuda.h"

namespace argosy::cuda {

template <typename A>
ARGOSY_DEVICE A activated(A v, int activation, f32 alpha) {
  switch (activation) {
    case 1: return v < A(0) ? A(0) : v;
    case 2: return v < A(0) ? A(0) : v > A(6) ? A(6) : v;
    case 3: return v < A(0) ? ::expm1(v) : v;
    case 4: return v < A(0) ? v * static_cast<A>(alpha) : v;
    case 5: return A(1) / (A(1) + ::exp(-v));
    case 6: return ::tanh(v);
    default: return v;
  }
}

ARGOSY_DEVICE i64 filter_at(const GpuConv& g, i64 y, i64 x, i64 i, i64 o) {
  return ((y * g.w.window + x) * (g.in_c / g.groups) + i) * g.out_c + o;
}

template <typename T>
ARGOSY_DEVICE void forward(const GpuConv& g, const T* image, const T* filter, const T* bias, T* result) {
  using A = Compute<T>;
  const i64 in_group = g.in_c / g.groups, out_group = g.out_c / g.groups;
  // Channels are innermost: neighbouring threads read the same image elements, and neighbouring filter elements.
  for (i64 e = first_index(); e < g.batch * g.h.out * g.w.out * g.out_c; e += index_step()) {
    const i64 o = e % g.out_c, ox = e / g.out_c % g.w.out, oy = e / g.out_c / g.w.out % g.h.out,
              n = e / g.out_c / g.w.out / g.h.out;
    const i64 first = o / out_group * in_group;
    A sum = A(0);
    for (i64 y = 0; y < g.h.window; ++y) {
      const i64 iy = g.h.under(oy, y);
      if (iy < 0 || iy >= g.h.in) continue;
      for (i64 x = 0; x < g.w.window; ++x) {
        const i64 ix = g.w.under(ox, x);
        if (ix < 0 || ix >= g.w.in) continue;
        const i64 at = n * g.in.n + iy * g.in.h + ix * g.in.w + first * g.in.c;
        for (i64 i = 0; i < in_group; ++i) {
          sum += load(image, at + i * g.in.c) * load(filter, filter_at(g, y, x, i, o));
        }
      }
    }
    if (bias != nullptr) sum += load(bias, o);
    store(result, n * g.out.n + oy * g.out.h + ox * g.out.w + o * g.out.c, activated(sum, g.activation, g.alpha));
  }
}

// Each input element gathers the sum over the windows that cover it.
template <typename T>
ARGOSY_DEVICE void backward_input(const GpuConv& g, const T* dy, const T* filter, T* result) {
  using A = Compute<T>;
  const i64 in_group = g.in_c / g.groups, out_group = g.out_c / g.groups;
  for (i64 e = first_index(); e < g.batch * g.h.in * g.w.in * g.in_c; e += index_step()) {
    const i64 c = e % g.in_c, ix = e / g.in_c % g.w.in, iy = e / g.in_c / g.w.in % g.h.in,
              n = e / g.in_c / g.w.in / g.h.in;
    const i64 group = c / in_group, i = c % in_group;
    A sum = A(0);
    for (i64 y = 0; y < g.h.window; ++y) {
      const i64 oy = g.h.over(iy, y);
      if (oy < 0) continue;
      for (i64 x = 0; x < g.w.window; ++x) {
        const i64 ox = g.w.over(ix, x);
        if (ox < 0) continue;
        const i64 at = n * g.out.n + oy * g.out.h + ox * g.out.w;
        for (i64 k = 0; k < out_group; ++k) {
          const i64 o = group * out_group + k;
          sum += load(dy, at + o * g.out.c) * load(filter, filter_at(g, y, x, i, o));
        }
      }
    }
    store(result, n * g.in.n + iy * g.in.h + ix * g.in.w + c * g.in.c, sum);
  }
}

struct ConvSum {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a + b;
  }
};
template <typename T>
ARGOSY_DEVICE void backward_filter(const GpuConv& g, const T* image, const T* dy, T* result) {
  using A = Compute<T>;
  ARGOSY_SHARED A scratch[32];
  const i64 in_group = g.in_c / g.groups, out_group = g.out_c / g.groups, patches = g.batch * g.h.out * g.w.out;
  for (i64 e = blockIdx.x; e < g.h.window * g.w.window * in_group * g.out_c; e += gridDim.x) {
    const i64 o = e % g.out_c, i = e / g.out_c % in_group, x = e / g.out_c / in_group % g.w.window,
              y = e / g.out_c / in_group / g.w.window;
    const i64 c = o / out_group * in_group + i;
    A sum = A(0);
    for (i64 p = threadIdx.x; p < patches; p += blockDim.x) {
      const i64 ox = p % g.w.out, oy = p / g.w.out % g.h.out, n = p / g.w.out / g.h.out;
      const i64 iy = g.h.under(oy, y), ix = g.w.under(ox, x);
      if (iy < 0 || iy >= g.h.in || ix < 0 || ix >= g.w.in) continue;
      sum += load(image, n * g.in.n + iy * g.in.h + ix * g.in.w + c * g.in.c) *
             load(dy, n * g.out.n + oy * g.out.h + ox * g.out.w + o * g.out.c);
    }
    sum = block_reduce(sum, scratch, ConvSum{});
    if (threadIdx.x == 0) store(result, e, sum);
  }
}

// Bias and activation after a convolution by cuDNN: y as [outer, channels, inner].
template <typename T>
ARGOSY_DEVICE void finish(i64 n, i64 channels, i64 inner, const T* bias, int activation, f32 alpha, T* y) {
  for (i64 e = first_index(); e < n; e += index_step()) {
    Compute<T> v = load(y, e);
    if (bias != nullptr) v += load(bias, e / inner % channels);
    store(y, e, activated(v, activation, alpha));
  }
}

#define ARGOSY_CONV(T)                                                                                             \
  ARGOSY_KERNEL(conv_forward_##T, GpuConv g, const T* image, const T* filter, const T* bias, T* result) {          \
    forward(g, image, filter, bias, result);                                                                       \
  }                                                                                                                \
  ARGOSY_KERNEL(conv_backward_input_##T, GpuConv g, const T* dy, const T* filter, T* result) {                     \
    backward_input(g, dy, filter, result);                                                                         \
  }                                                                                                                \
  ARGOSY_KERNEL(conv_backward_filter_##T, GpuConv g, const T* image, const T* dy, T* result) {                     \
    backward_filter(g, image, dy, result);                                                                         \
  }                                                                                                                \
  ARGOSY_KERNEL(conv_finish_##T, i64 n, i64 channels, i64 inner, const T* bias, int activation, f32 alpha, T* y) { \
    finish(n, channels, inner, bias, activation, alpha, y);                                                        \
  }
ARGOSY_CONV(f32)
ARGOSY_CONV(f64)
ARGOSY_CONV(f16)
ARGOSY_CONV(bf16)

}  // namespace argosy::cuda
