// Convolutions of volumes as matrix products over unrolled windows, some rows of them at a time.
#include <algorithm>

#include "argosy/op/kernel.h"
#include "argosy/ops/matmul/gemm.h"
#include "argosy/ops/volume/walk.h"

namespace argosy {

namespace {

using volume::Geometry;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kUnrolledBytes = 4 << 20;

class Conv3D final : public Kernel {
 public:
  Conv3D(std::string op, volume::Attributes attributes) : op_(std::move(op)), attributes_(std::move(attributes)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(volume::Attributes a, volume::read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Conv3D>(init.op.name, std::move(a)));
  }

  Status run(KernelContext& c) override {
    const bool to_input = op_ == "Conv3DBackpropInputV2", to_filter = op_ == "Conv3DBackpropFilterV2";
    Shape x = c.input(0).shape(), filter = c.input(1).shape();
    for (int i = 0; i < 2; ++i) {
      if (!(i == 0 ? to_input : to_filter)) continue;
      if (c.input(i).shape().rank() != 1) {
        return invalid_argument(op_, ": sizes must be a vector, not of shape ", c.input(i).shape());
      }
      Shape& sizes = i == 0 ? x : filter;
      ARGOSY_ASSIGN_OR_RETURN(sizes, to_shape(c.input(i), "Conv3D: sizes"));
    }
    if (x.rank() != 5 || filter.rank() != 5 || x[4] != filter[3]) {
      return invalid_argument(op_, ": input ", x, " and filter ", filter,
                              " must have 5 axes, and the filter as many channels as the input");
    }
    const Sizes window = {filter[0], filter[1], filter[2]};
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            volume::place_windows(op_, attributes_, Sizes(x.sizes().begin(), x.sizes().end()), window));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y, Shape::make(volume::output_sizes(g, attributes_, filter[4])));
    if ((to_input || to_filter) && !(c.input(2).shape() == y)) {
      return invalid_argument(op_, ": out_backprop has shape ", c.input(2).shape(), ", the convolution ", y);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, to_input ? x : to_filter ? filter : y));
    return dispatch<FloatTypes>(out->dtype(), op_, [&]<typename T>() {
      std::fill_n(out->data<T>(), out->elements(), T(0.0f));
      if (out->elements() == 0 || y.elements() == 0) return ok_status();
      return convolve<T>(c, g, filter[4], *out);
    });
  }

 private:
  template <typename T>
  Status convolve(KernelContext& c, const Geometry& g, std::int64_t outputs, const Tensor& out) {
    const std::int64_t k = g.window_cells() * g.channels;
    const std::int64_t rows = g.windows();
    const std::int64_t at_once =
        std::clamp<std::int64_t>(kUnrolledBytes / (k * static_cast<std::int64_t>(sizeof(T))), 1, rows);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(at_once * k) * sizeof(T)));
    T* const unrolled = reinterpret_cast<T*>(memory.data());
    std::vector<T> part(op_ == "Conv3DBackpropFilterV2" ? static_cast<std::size_t>(k * outputs) : 0);
    for (std::int64_t b = 0; b < g.batch; ++b) {
      for (std::int64_t first = 0; first < rows; first += at_once) {
        const std::int64_t n = std::min(at_once, rows - first);
        const std::int64_t y = (b * rows + first) * outputs, x = b * g.cells() * g.channels;
        if (op_ == "Conv3D") {
          unroll(g, c.input(0).data<T>() + x, first, n, unrolled);
          const Gemm gemm_sizes{.m = n, .n = outputs, .k = k};
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, gemm_sizes, static_cast<const T*>(unrolled), c.input(1).data<T>(),
                                      static_cast<const T*>(nullptr), FusedOps{}, out.data<T>() + y));
        } else if (op_ == "Conv3DBackpropInputV2") {
          const Gemm gemm_sizes{.transpose_b = true, .m = n, .n = k, .k = outputs};
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, gemm_sizes, static_cast<const T*>(c.input(2).data<T>() + y),
                                      static_cast<const T*>(c.input(1).data<T>()), static_cast<const T*>(nullptr),
                                      FusedOps{}, unrolled));
          roll(g, unrolled, first, n, out.data<T>() + x);
        } else {
          unroll(g, c.input(0).data<T>() + x, first, n, unrolled);
          const Gemm gemm_sizes{.transpose_a = true, .m = k, .n = outputs, .k = n};
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, gemm_sizes, static_cast<const T*>(unrolled),
                                      static_cast<const T*>(c.input(2).data<T>() + y), static_cast<const T*>(nullptr),
                                      FusedOps{}, part.data()));
          T* const sum = out.data<T>();
          for (std::int64_t i = 0; i < k * outputs; ++i) sum[i] = sum[i] + part[static_cast<std::size_t>(i)];
        }
      }
    }
    return ok_status();
  }

  // Rows [first, first + n) of windows, each a row of window cells times channels.
  template <typename T>
  static void unroll(const Geometry& g, const T* x, std::int64_t first, std::int64_t n, T* to) {
    const std::int64_t width = g.window_cells() * g.channels;
    std::fill_n(to, n * width, T(0.0f));
    for (std::int64_t i = 0; i < n; ++i) {
      volume::for_window(g, first + i, [&](std::int64_t cell, std::int64_t window_cell) {
        std::copy_n(x + cell * g.channels, g.channels, to + i * width + window_cell * g.channels);
      });
    }
  }
  // What was unrolled, added up where it came from.
  template <typename T>
  static void roll(const Geometry& g, const T* from, std::int64_t first, std::int64_t n, T* x) {
    const std::int64_t width = g.window_cells() * g.channels;
    for (std::int64_t i = 0; i < n; ++i) {
      volume::for_window(g, first + i, [&](std::int64_t cell, std::int64_t window_cell) {
        const T* const row = from + i * width + window_cell * g.channels;
        T* const to = x + cell * g.channels;
        for (std::int64_t k = 0; k < g.channels; ++k) to[k] = to[k] + row[k];
      });
    }
  }

  const std::string op_;
  const volume::Attributes attributes_;
  MatMulPrograms programs_{onednn::make_matmul};
};

}  // namespace

void add_conv3d(KernelRegistry& kernels) {
  for (const char* op : {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}) {
    kernels.add(op, "cpu", Conv3D::make);
  }
}

}  // namespace argosy
