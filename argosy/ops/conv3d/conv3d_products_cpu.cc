// Convolutions of volumes as matrix products over unrolled windows, some rows of them at a time.
#include <algorithm>

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/conv3d/conv3d_layouts.h"
#include "argosy/ops/conv3d/window_cells.h"
#include "argosy/ops/conv3d/windowed_kernel.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy::windows3d {

namespace {

constexpr std::int64_t kUnrolledBytes = 4 << 20;

class Conv3D final : public Kernel, public Workspace {
 public:
  Conv3D(std::string op, Attributes attributes) : op_(std::move(op)), attributes_(std::move(attributes)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(Attributes a, read_attributes(init.op.name, init.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<Conv3D>(init.op.name, std::move(a)));
  }

  Status run(KernelContext& c) override {
    const bool to_input = op_ == "Conv3DBackpropInputV2", to_filter = op_ == "Conv3DBackpropFilterV2";
    Layouts layouts(c, attributes_.channels_first);
    Shape x = c.input(0).shape(), filter = c.input(1).shape();
    for (int i = 0; i < 2; ++i) {
      if (!(i == 0 ? to_input : to_filter)) continue;
      if (c.input(i).shape().rank() != 1) {
        return invalid_argument(op_, ": sizes must be a vector, not of shape ", c.input(i).shape());
      }
      Shape& sizes = i == 0 ? x : filter;
      ARGOSY_ASSIGN_OR_RETURN(sizes, to_shape(c.input(i), "Conv3D: sizes"));
    }
    x = layouts.last(x);
    if (x.rank() != 5 || filter.rank() != 5 || x[4] != filter[3]) {
      return invalid_argument(op_, ": input ", x, " and filter ", filter,
                              " must have 5 axes, and the filter as many channels as the input");
    }
    const Sizes window = {filter[0], filter[1], filter[2]};
    ARGOSY_ASSIGN_OR_RETURN(const Geometry g,
                            place_windows(op_, attributes_, Sizes(x.sizes().begin(), x.sizes().end()), window));
    ARGOSY_ASSIGN_OR_RETURN(const Shape y, Shape::make(output_sizes(g, attributes_, filter[4])));
    if ((to_input || to_filter) && !(layouts.last(c.input(2).shape()) == y)) {
      return invalid_argument(op_, ": out_backprop has shape ", c.input(2).shape(),
                              ", the convolution (channels last) ", y);
    }
    Operands o{.filter = c.input(1)};
    if (!to_input) {
      ARGOSY_ASSIGN_OR_RETURN(o.x, layouts.read(c.input(0)));
    }
    if (to_input || to_filter) {
      ARGOSY_ASSIGN_OR_RETURN(o.dy, layouts.read(c.input(2)));
    }
    if (to_filter) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, filter));
      o.out = *out;
    } else {
      ARGOSY_ASSIGN_OR_RETURN(o.out, layouts.write(to_input ? x : y));
    }
    ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(o.out.dtype(), op_, [&]<typename T>() {
      std::fill_n(o.out.data<T>(), o.out.elements(), T(0.0f));
      if (o.out.elements() == 0 || y.elements() == 0 || g.channels == 0) return ok_status();
      return convolve<T>(c, g, filter[4], o);
    }));
    layouts.finish();
    return ok_status();
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const bool to_input = op_ == "Conv3DBackpropInputV2", to_filter = op_ == "Conv3DBackpropFilterV2";
    const PartialShape& volumes = to_input ? init.output_shapes[0] : init.input_shapes[0];
    const PartialShape& filters = to_filter ? init.output_shapes[0] : init.input_shapes[1];
    const auto own = volumes.full(), filter = filters.full();
    if (!own.ok() || !filter.ok()) return std::nullopt;
    const DType dtype = init.output_dtypes[0];
    const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
    const Shape x = last_of(*own, attributes_.channels_first);
    if (x.rank() != 5 || filter->rank() != 5) return 0;
    const auto g = place_windows(op_, attributes_, Sizes(x.sizes().begin(), x.sizes().end()),
                                 {(*filter)[0], (*filter)[1], (*filter)[2]});
    if (!g.ok()) return 0;
    const std::int64_t y = g->batch * g->windows() * (*filter)[4];
    // Volumes with channels first are copied: inputs and outputs.
    std::int64_t held = attributes_.channels_first ? (x.elements() + y) * bytes : 0;
    if ((to_filter ? filter->elements() : to_input ? x.elements() : y) == 0 || y == 0 || g->channels == 0) {
      return static_cast<std::uint64_t>(held);
    }
    const std::int64_t k = g->window_cells() * g->channels, rows = g->windows(), at_once = rows_at_once(k, rows, bytes);
    held += at_once * k * bytes;
    const auto of = [&](std::int64_t n) {
      return n == 0 ? 0 : gemm_scratch_bytes(programs_, product(n, k, (*filter)[4]), dtype, false, {});
    };
    return static_cast<std::uint64_t>(held) + std::max(of(at_once), of(rows % at_once));
  }

 private:
  static std::int64_t rows_at_once(std::int64_t k, std::int64_t rows, std::int64_t element_bytes) {
    return std::clamp<std::int64_t>(kUnrolledBytes / (k * element_bytes), 1, rows);
  }
  Gemm product(std::int64_t n, std::int64_t k, std::int64_t outputs) const {
    if (op_ == "Conv3D") return {.m = n, .n = outputs, .k = k};
    if (op_ == "Conv3DBackpropInputV2") return {.transpose_b = true, .m = n, .n = k, .k = outputs};
    return {.transpose_a = true, .m = k, .n = outputs, .k = n};
  }

  struct Operands {  // channels last; those that the op has
    Tensor x = {}, filter, dy = {}, out = {};
  };

  template <typename T>
  Status convolve(KernelContext& c, const Geometry& g, std::int64_t outputs, const Operands& o) {
    const std::int64_t k = g.window_cells() * g.channels;
    const std::int64_t rows = g.windows();
    const std::int64_t at_once = rows_at_once(k, rows, static_cast<std::int64_t>(sizeof(T)));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(at_once * k) * sizeof(T)));
    T* const unrolled = reinterpret_cast<T*>(memory.data());
    std::vector<T> part(op_ == "Conv3DBackpropFilterV2" ? static_cast<std::size_t>(k * outputs) : 0);
    for (std::int64_t b = 0; b < g.batch; ++b) {
      for (std::int64_t first = 0; first < rows; first += at_once) {
        const std::int64_t n = std::min(at_once, rows - first);
        const std::int64_t y = (b * rows + first) * outputs, x = b * g.cells() * g.channels;
        if (op_ == "Conv3D") {
          unroll(g, o.x.data<T>() + x, first, n, unrolled);
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, product(n, k, outputs), static_cast<const T*>(unrolled),
                                      o.filter.data<T>(), static_cast<const T*>(nullptr), FusedOps{},
                                      o.out.data<T>() + y));
        } else if (op_ == "Conv3DBackpropInputV2") {
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, product(n, k, outputs), static_cast<const T*>(o.dy.data<T>() + y),
                                      static_cast<const T*>(o.filter.data<T>()), static_cast<const T*>(nullptr),
                                      FusedOps{}, unrolled));
          roll(g, unrolled, first, n, o.out.data<T>() + x);
        } else {
          unroll(g, o.x.data<T>() + x, first, n, unrolled);
          ARGOSY_RETURN_IF_ERROR(gemm(c, programs_, product(n, k, outputs), static_cast<const T*>(unrolled),
                                      static_cast<const T*>(o.dy.data<T>() + y), static_cast<const T*>(nullptr),
                                      FusedOps{}, part.data()));
          T* const sum = o.out.data<T>();
          for (std::int64_t i = 0; i < k * outputs; ++i) sum[i] = sum[i] + part[static_cast<std::size_t>(i)];
        }
      }
    }
    return ok_status();
  }

  // Unrolls windows [first, first + n): each is a row of window cells times channels.
  template <typename T>
  static void unroll(const Geometry& g, const T* x, std::int64_t first, std::int64_t n, T* to) {
    const std::int64_t width = g.window_cells() * g.channels;
    std::fill_n(to, n * width, T(0.0f));
    for (std::int64_t i = 0; i < n; ++i) {
      for_window(g, first + i, [&](std::int64_t cell, std::int64_t window_cell) {
        std::copy_n(x + cell * g.channels, g.channels, to + i * width + window_cell * g.channels);
      });
    }
  }
  // Adds unrolled windows to the elements they came from.
  template <typename T>
  static void roll(const Geometry& g, const T* from, std::int64_t first, std::int64_t n, T* x) {
    const std::int64_t width = g.window_cells() * g.channels;
    for (std::int64_t i = 0; i < n; ++i) {
      for_window(g, first + i, [&](std::int64_t cell, std::int64_t window_cell) {
        const T* const row = from + i * width + window_cell * g.channels;
        T* const to = x + cell * g.channels;
        for (std::int64_t k = 0; k < g.channels; ++k) to[k] = to[k] + row[k];
      });
    }
  }

  const std::string op_;
  const Attributes attributes_;
  MatMulPrograms programs_{onednn::make_matmul};
};

}  // namespace

void add_conv3d(KernelRegistry& kernels) {
  for (const char* op : {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}) {
    kernels.add(op, "cpu", Conv3D::make);
  }
}

}  // namespace argosy::windows3d
