// Kernels that move or select quantised integers, and so keep their range.
#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/quantized/ranges.h"

namespace argosy::quantized {

namespace {

// With one size that may be -1.
Result<Shape> wanted_shape(const Tensor& sizes, std::int64_t elements) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<std::int64_t> all, to_int64s(sizes, "QuantizedReshape: shape"));
  std::int64_t known = 1, unknown = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == -1 && unknown < 0) {
      unknown = static_cast<std::int64_t>(i);
    } else if (all[i] < 0) {
      return invalid_argument("QuantizedReshape: size ", i, " must not be ", all[i]);
    } else if (__builtin_mul_overflow(known, all[i], &known)) {
      return invalid_argument("QuantizedReshape: a shape of that many elements is too large");
    }
  }
  if (unknown >= 0) {
    if (known == 0) return invalid_argument("QuantizedReshape: beside sizes of 0 no size can be found out");
    all[static_cast<std::size_t>(unknown)] = elements / known;
    known *= elements / known;
  }
  if (known != elements) {
    return invalid_argument("Input to reshape is a tensor with ", elements, " values, but the requested shape has ",
                            known);
  }
  return Shape::make(all);
}

Status reshape(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.dtype() != DType::kQuint8 && x.dtype() != DType::kQint32)
    return unsupported_dtype("QuantizedReshape", x.dtype());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, wanted_shape(c.input(1), x.elements()));
  for (const int i : {2, 3}) {
    const Tensor& end = c.input(i);
    if (end.shape().rank() > 1 || end.elements() != 1) {
      return invalid_argument("QuantizedReshape: input ", i,
                              ", an end of a range, must be a scalar or a vector of 1 element");
    }
  }
  ARGOSY_RETURN_IF_ERROR(forward_input(c, 0, x.reshaped(shape)));
  return write_range(c, 1, {*c.input(2).data<float>(), *c.input(3).data<float>()});
}

template <bool kMost>
class Pool final : public Kernel {
 public:
  Pool(WindowAttrs attrs, std::array<std::int64_t, 2> window) : attrs_(std::move(attrs)), window_(window) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(WindowAttrs attrs, read_window(init.op.name, init.attrs));
    ARGOSY_ASSIGN_OR_RETURN(const auto window, spatial_pair(init.op.name, "ksize",
                                                            init.attrs.get<std::vector<std::int64_t>>("ksize"), false));
    return std::unique_ptr<Kernel>(std::make_unique<Pool>(std::move(attrs), window));
  }

  Status run(KernelContext& c) override {
    constexpr const char* kOp = kMost ? "QuantizedMaxPool" : "QuantizedAvgPool";
    const Tensor& x = c.input(0);
    if (x.shape().rank() != 4) return invalid_argument(kOp, ": images are wanted, not shape ", x.shape());
    if (x.dtype() != DType::kQuint8 && x.dtype() != DType::kQint8) return unsupported_dtype(kOp, x.dtype());
    ARGOSY_ASSIGN_OR_RETURN(const float least, range_end(c, 1, kOp));
    ARGOSY_ASSIGN_OR_RETURN(const float greatest, range_end(c, 2, kOp));
    ARGOSY_ASSIGN_OR_RETURN(const WindowAxis rows, slide(kOp, attrs_, 0, x.shape()[1], window_[0]));
    ARGOSY_ASSIGN_OR_RETURN(const WindowAxis columns, slide(kOp, attrs_, 1, x.shape()[2], window_[1]));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                            Shape::make(std::vector<std::int64_t>{x.shape()[0], rows.out, columns.out, x.shape()[3]}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const Status pooled = with_integers(x.dtype(), kOp, [&]<typename T>() {
      if (y->elements() > 0) pool(x.raw_as<T>(), rows, columns, x.shape(), y->raw_as<T>());
      return ok_status();
    });
    ARGOSY_RETURN_IF_ERROR(pooled);
    return write_range(c, 1, {least, greatest});
  }

 private:
  template <typename T>
  static void pool(const T* x, const WindowAxis& rows, const WindowAxis& columns, const Shape& shape, T* y) {
    const std::int64_t channels = shape[3];
    parallel_for(shape[0] * rows.out, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> fold(static_cast<std::size_t>(channels));
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t n = row / rows.out, at = row % rows.out * rows.stride - rows.pad_before;
        const std::int64_t top = std::max<std::int64_t>(at, 0), bottom = std::min(at + rows.window, rows.in);
        for (std::int64_t column = 0; column < columns.out; ++column) {
          const std::int64_t start = column * columns.stride - columns.pad_before;
          const std::int64_t left = std::max<std::int64_t>(start, 0);
          const std::int64_t right = std::min(start + columns.window, columns.in);
          std::fill(fold.begin(), fold.end(), kMost ? std::int64_t{std::numeric_limits<T>::lowest()} : 0);
          for (std::int64_t i = top; i < bottom; ++i) {
            for (std::int64_t j = left; j < right; ++j) {
              const T* const cell = x + ((n * rows.in + i) * columns.in + j) * channels;
              for (std::int64_t k = 0; k < channels; ++k) {
                std::int64_t& to = fold[static_cast<std::size_t>(k)];
                to = kMost ? std::max<std::int64_t>(to, cell[k]) : to + cell[k];
              }
            }
          }
          const std::int64_t cells = std::max<std::int64_t>(1, (bottom - top) * (right - left));
          for (std::int64_t k = 0; k < channels; ++k) {
            const std::int64_t v = fold[static_cast<std::size_t>(k)];
            y[(row * columns.out + column) * channels + k] = static_cast<T>(kMost ? v : v / cells);
          }
        }
      }
    });
  }

  const WindowAttrs attrs_;
  const std::array<std::int64_t, 2> window_;
};

// Inputs: the axis, n tensors, n least and n greatest numbers.
Status concat(KernelContext& c) {
  constexpr const char* kOp = "QuantizedConcat";
  const int n = (c.num_inputs() - 1) / 3;
  const Tensor& first = c.input(1);
  if (first.dtype() != DType::kQuint8 && first.dtype() != DType::kQint32) return unsupported_dtype(kOp, first.dtype());
  if (c.input(0).shape().rank() != 0) {
    return invalid_argument("Concat dim tensor should be a scalar integer, but got shape ", c.input(0).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t wanted, to_int64(c.input(0), "concat_dim"));
  const int rank = first.shape().rank();
  if (wanted < 0 || wanted >= rank) {
    return invalid_argument("ConcatOp : Expected concatenating dimensions in the range [0, ", rank, "), but got ",
                            wanted);
  }
  const int axis = static_cast<int>(wanted);
  Range all;
  std::vector<Range> ranges;
  std::int64_t size = 0;
  for (int i = 0; i < n; ++i) {
    const Shape& shape = c.input(1 + i).shape();
    if (shape.rank() != rank || !(shape.with(axis, 0) == first.shape().with(axis, 0))) {
      return invalid_argument("ConcatOp : Dimensions of inputs should match: shape[0] = ", first.shape(), " vs. shape[",
                              i, "] = ", shape);
    }
    size += shape[axis];
    ARGOSY_ASSIGN_OR_RETURN(const float least, range_end(c, 1 + n + i, kOp));
    ARGOSY_ASSIGN_OR_RETURN(const float greatest, range_end(c, 1 + 2 * n + i, kOp));
    ranges.push_back({least, greatest});
    all.least = std::min(i == 0 ? least : all.least, least);
    all.greatest = std::max(i == 0 ? greatest : all.greatest, greatest);
  }
  all.least = std::min(0.0f, all.least);
  if (first.dtype() == DType::kQint32) {
    const float most = std::max(std::fabs(all.least), std::fabs(all.greatest));
    all = {-most, most};
  }
  if (all.greatest < all.least) {
    return invalid_argument(kOp, ": ranges end below where they begin: ", all.least, " to ", all.greatest);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make([&] {
                            const auto sizes = first.shape().sizes();
                            std::vector<std::int64_t> v(sizes.begin(), sizes.end());
                            v[static_cast<std::size_t>(axis)] = size;
                            return v;
                          }()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < rank; ++i) inner *= shape[i];
  return with_integers(first.dtype(), kOp, [&]<typename T>() -> Status {
    std::int64_t at = 0;
    const FloatLine<T> line(all);
    for (int i = 0; i < n; ++i) {
      const Range from = ranges[static_cast<std::size_t>(i)];
      const FloatLine<T> own(from);
      const bool same = from.least == all.least && from.greatest == all.greatest;
      const std::int64_t width = c.input(1 + i).shape()[axis] * inner;
      for (std::int64_t o = 0; o < outer; ++o) {
        const T* const in = c.input(1 + i).raw_as<T>() + o * width;
        T* const out = y->raw_as<T>() + o * size * inner + at;
        for (std::int64_t k = 0; k < width; ++k) out[k] = same ? in[k] : line.integer(own.number(in[k]));
      }
      at += width;
    }
    return write_range(c, 1, all);
  });
}

}  // namespace

void add_movements(KernelRegistry& kernels) {
  kernels.add("QuantizedReshape", "cpu", reshape);
  kernels.add("QuantizedMaxPool", "cpu", Pool<true>::make);
  kernels.add("QuantizedAvgPool", "cpu", Pool<false>::make);
  kernels.add("QuantizedConcat", "cpu", concat);
}

}  // namespace argosy::quantized
