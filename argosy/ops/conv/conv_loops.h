// The forward convolution and its two gradients as plain loops. Tests compare the fast kernels with them, and they run
// where the fast ones decline.
#pragma once

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/conv/conv_geometry.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

// The stride of each axis of an image, in elements.
struct ImageStrides {
  std::int64_t n, h, w, c;
};
inline ImageStrides image_strides(bool nchw, std::int64_t h, std::int64_t w, std::int64_t c) {
  return nchw ? ImageStrides{h * w * c, w, 1, h * w} : ImageStrides{h * w * c, w * c, c, 1};
}

struct ConvLoops {
  const ConvGeometry& g;
  ImageStrides in, out;
  ConvLoops(const ConvGeometry& geometry, bool nchw)
      : g(geometry),
        in(image_strides(nchw, g.h.in, g.w.in, g.in_c)),
        out(image_strides(nchw, g.h.out, g.w.out, g.out_c)) {}

  std::int64_t filter_at(std::int64_t y, std::int64_t x, std::int64_t i, std::int64_t o) const {
    return ((y * g.w.window + x) * g.in_c_per_group() + i) * g.out_c + o;
  }
  // Returns the input row that row `y` of the window reads at output row `o`; negative or too large: padding.
  static std::int64_t under(const WindowAxis& a, std::int64_t o, std::int64_t y) {
    return o * a.stride + y * a.dilation - a.pad_before;
  }

  template <typename T>
  void forward(const T* image, const T* filter, T* result) const {
    using Sum = typename internal::Accumulator<T>::type;
    parallel_for(g.batch * g.h.out, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t n = row / g.h.out, oy = row % g.h.out;
        for (std::int64_t ox = 0; ox < g.w.out; ++ox) {
          for (std::int64_t o = 0; o < g.out_c; ++o) {
            const std::int64_t first = o / g.out_c_per_group() * g.in_c_per_group();
            Sum sum{};
            for (std::int64_t y = 0; y < g.h.window; ++y) {
              const std::int64_t iy = under(g.h, oy, y);
              if (iy < 0 || iy >= g.h.in) continue;
              for (std::int64_t x = 0; x < g.w.window; ++x) {
                const std::int64_t ix = under(g.w, ox, x);
                if (ix < 0 || ix >= g.w.in) continue;
                const T* const at = image + n * in.n + iy * in.h + ix * in.w + first * in.c;
                for (std::int64_t i = 0; i < g.in_c_per_group(); ++i) {
                  sum += static_cast<Sum>(at[i * in.c]) * static_cast<Sum>(filter[filter_at(y, x, i, o)]);
                }
              }
            }
            result[n * out.n + oy * out.h + ox * out.w + o * out.c] = static_cast<T>(sum);
          }
        }
      }
    });
  }

  // Each input element gathers the sum over the windows that cover it.
  template <typename T>
  void backward_input(const T* dy, const T* filter, T* result) const {
    using Sum = typename internal::Accumulator<T>::type;
    parallel_for(g.batch * g.h.in, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t n = row / g.h.in, iy = row % g.h.in;
        for (std::int64_t ix = 0; ix < g.w.in; ++ix) {
          for (std::int64_t c = 0; c < g.in_c; ++c) {
            const std::int64_t group = c / g.in_c_per_group(), i = c % g.in_c_per_group();
            Sum sum{};
            for (std::int64_t y = 0; y < g.h.window; ++y) {
              const std::int64_t oy = over(g.h, iy, y);
              if (oy < 0) continue;
              for (std::int64_t x = 0; x < g.w.window; ++x) {
                const std::int64_t ox = over(g.w, ix, x);
                if (ox < 0) continue;
                for (std::int64_t k = 0; k < g.out_c_per_group(); ++k) {
                  const std::int64_t o = group * g.out_c_per_group() + k;
                  sum += static_cast<Sum>(dy[n * out.n + oy * out.h + ox * out.w + o * out.c]) *
                         static_cast<Sum>(filter[filter_at(y, x, i, o)]);
                }
              }
            }
            result[n * in.n + iy * in.h + ix * in.w + c * in.c] = static_cast<T>(sum);
          }
        }
      }
    });
  }

  template <typename T>
  void backward_filter(const T* image, const T* dy, T* result) const {
    using Sum = typename internal::Accumulator<T>::type;
    const std::int64_t rows = g.h.window * g.w.window * g.in_c_per_group();
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t i = row % g.in_c_per_group();
        const std::int64_t x = row / g.in_c_per_group() % g.w.window;
        const std::int64_t y = row / g.in_c_per_group() / g.w.window;
        for (std::int64_t o = 0; o < g.out_c; ++o) {
          const std::int64_t c = o / g.out_c_per_group() * g.in_c_per_group() + i;
          Sum sum{};
          for (std::int64_t n = 0; n < g.batch; ++n) {
            for (std::int64_t oy = 0; oy < g.h.out; ++oy) {
              const std::int64_t iy = under(g.h, oy, y);
              if (iy < 0 || iy >= g.h.in) continue;
              for (std::int64_t ox = 0; ox < g.w.out; ++ox) {
                const std::int64_t ix = under(g.w, ox, x);
                if (ix < 0 || ix >= g.w.in) continue;
                sum += static_cast<Sum>(image[n * in.n + iy * in.h + ix * in.w + c * in.c]) *
                       static_cast<Sum>(dy[n * out.n + oy * out.h + ox * out.w + o * out.c]);
              }
            }
          }
          result[row * g.out_c + o] = static_cast<T>(sum);
        }
      }
    });
  }

 private:
  // Returns the output row whose window has its row `y` at input row `i`; -1 if there is none.
  static std::int64_t over(const WindowAxis& a, std::int64_t i, std::int64_t y) {
    const std::int64_t from = i + a.pad_before - y * a.dilation;
    if (from < 0 || from % a.stride != 0) return -1;
    const std::int64_t o = from / a.stride;
    return o < a.out ? o : -1;
  }
};

}  // namespace argosy
