// Kernels: products, convolutions, sums and ReLUs of quantised integers. Sums of products are int32, and wrap around.
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/quantized/ranges.h"

namespace argosy::quantized {

namespace {

// An integer less the one that stands for 0.
template <typename T>
std::uint32_t from_zero(T q, std::int64_t zero) {
  return static_cast<std::uint32_t>(std::int64_t{q} - zero);
}

// Runs fn.template operator()<A, B>() for the pairs of dtypes that products are made of.
template <typename Fn>
Status with_factors(const KernelContext& c, std::string_view op, Fn&& fn) {
  const DType a = c.input(0).dtype(), b = c.input(1).dtype();
  if (c.output_dtype(0) != DType::kQint32) return unsupported_dtype(op, c.output_dtype(0));
  if (a != DType::kQuint8) return unsupported_dtype(op, a);
  if (b == DType::kQuint8) return fn.template operator()<std::uint8_t, std::uint8_t>();
  if (b == DType::kQint8) return fn.template operator()<std::uint8_t, std::int8_t>();
  return unsupported_dtype(op, b);
}

class MatMul final : public Kernel {
 public:
  explicit MatMul(const AttrMap& attrs)
      : transpose_a_(attrs.get_bool("transpose_a")), transpose_b_(attrs.get_bool("transpose_b")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MatMul>(init.attrs));
  }

  Status run(KernelContext& c) override {
    const Tensor &a = c.input(0), &b = c.input(1);
    if (a.shape().rank() != 2 || b.shape().rank() != 2) {
      return invalid_argument("QuantizedMatMul: matrices are wanted, not shapes ", a.shape(), " and ", b.shape());
    }
    const std::int64_t m = a.shape()[transpose_a_ ? 1 : 0], k = a.shape()[transpose_a_ ? 0 : 1],
                       n = b.shape()[transpose_b_ ? 0 : 1];
    if (b.shape()[transpose_b_ ? 1 : 0] != k) {
      return invalid_argument("Matrix size-incompatible: In[0]: ", a.shape(), ", In[1]: ", b.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Range ra, range_at(c, 2, "QuantizedMatMul"));
    ARGOSY_ASSIGN_OR_RETURN(const Range rb, range_at(c, 4, "QuantizedMatMul"));
    if (ra.greatest <= ra.least) return invalid_argument("max_a must be larger than min_a.");
    if (rb.greatest <= rb.least) return invalid_argument("max_b must be larger than min_b.");
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {m, n}));
    return with_factors(c, "QuantizedMatMul", [&]<typename A, typename B>() -> Status {
      const std::int64_t zero_a = integer_unclamped<A>(0, ra), zero_b = integer_unclamped<B>(0, rb);
      const A* const as = a.raw_as<A>();
      const B* const bs = b.raw_as<B>();
      parallel_for(m, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(k * n, 1)),
                   [&](std::int64_t begin, std::int64_t end) {
                     std::vector<std::uint32_t> row(static_cast<std::size_t>(n));
                     for (std::int64_t i = begin; i < end; ++i) {
                       std::fill(row.begin(), row.end(), 0u);
                       for (std::int64_t p = 0; p < k; ++p) {
                         const std::uint32_t x = from_zero(as[transpose_a_ ? p * m + i : i * k + p], zero_a);
                         for (std::int64_t j = 0; j < n; ++j) {
                           row[static_cast<std::size_t>(j)] +=
                               x * from_zero(bs[transpose_b_ ? j * k + p : p * n + j], zero_b);
                         }
                       }
                       std::copy(row.begin(), row.end(), y->raw_as<std::uint32_t>() + i * n);
                     }
                   });
      return write_range(c, 1, range_of_products<A, B>(ra, rb));
    });
  }

 private:
  const bool transpose_a_, transpose_b_;
};

class Conv2D final : public Kernel {
 public:
  explicit Conv2D(WindowAttrs window) : window_(std::move(window)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(WindowAttrs window, read_window(init.op.name, init.attrs));
    if (window.dilation[0] != 1 || window.dilation[1] != 1) {
      return invalid_argument(
          "Current implementation only supports dilated rate as 1 in the row and column dimensions.");
    }
    if (window.stride[0] != window.stride[1]) {
      return invalid_argument(
          "Current implementation only supports equal length strides in the row and column dimensions.");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Conv2D>(std::move(window)));
  }

  Status run(KernelContext& c) override {
    constexpr const char* kOp = "QuantizedConv2D";
    const Shape &x = c.input(0).shape(), &f = c.input(1).shape();
    if (x.rank() != 4 || f.rank() != 4 || x[3] != f[2]) {
      return invalid_argument(kOp, ": images ", x, " and a filter ", f, " must have 4 axes and the same channels");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Range rx, range_at(c, 2, kOp));
    ARGOSY_ASSIGN_OR_RETURN(const Range rf, range_at(c, 4, kOp));
    ARGOSY_ASSIGN_OR_RETURN(const WindowAxis rows, slide(kOp, window_, 0, x[1], f[0]));
    ARGOSY_ASSIGN_OR_RETURN(const WindowAxis columns, slide(kOp, window_, 1, x[2], f[1]));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                            Shape::make(std::vector<std::int64_t>{x[0], rows.out, columns.out, f[3]}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return with_factors(c, kOp, [&]<typename A, typename B>() -> Status {
      const std::int64_t zero_x = integer_unclamped<A>(0, rx), zero_f = integer_unclamped<B>(0, rf);
      const A* const image = c.input(0).raw_as<A>();
      const B* const filter = c.input(1).raw_as<B>();
      const std::int64_t in = x[3], out = f[3];
      if (y->elements() > 0) {
        parallel_for(x[0] * rows.out, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const std::int64_t n = row / rows.out, top = row % rows.out * rows.stride - rows.pad_before;
            for (std::int64_t column = 0; column < columns.out; ++column) {
              std::uint32_t* const to = y->raw_as<std::uint32_t>() + (row * columns.out + column) * out;
              std::fill_n(to, out, 0u);
              const std::int64_t left = column * columns.stride - columns.pad_before;
              // Beside the image there are zeros, which add nothing.
              for (std::int64_t i = std::max<std::int64_t>(0, -top); i < f[0] && top + i < x[1]; ++i) {
                for (std::int64_t j = std::max<std::int64_t>(0, -left); j < f[1] && left + j < x[2]; ++j) {
                  const A* const from = image + ((n * x[1] + top + i) * x[2] + left + j) * in;
                  const B* const cell = filter + (i * f[1] + j) * in * out;
                  for (std::int64_t p = 0; p < in; ++p) {
                    const std::uint32_t v = from_zero(from[p], zero_x);
                    for (std::int64_t q = 0; q < out; ++q) to[q] += v * from_zero(cell[p * out + q], zero_f);
                  }
                }
              }
            }
          }
        });
      }
      return write_range(c, 1, range_of_products<A, B>(rx, rf));
    });
  }

 private:
  const WindowAttrs window_;
};

// Both in a range with room for the sum: 2^17 times the larger.
Status bias_add(KernelContext& c) {
  constexpr const char* kOp = "QuantizedBiasAdd";
  const Tensor &x = c.input(0), &bias = c.input(1);
  if (x.shape().rank() < 2) return invalid_argument("Input tensor must be at least 2D: ", x.shape());
  if (bias.shape().rank() != 1 || bias.elements() != x.shape().back()) {
    return invalid_argument("Must provide as many biases as the last dimension of the input tensor: ", bias.shape(),
                            " vs. ", x.shape());
  }
  if (bias.elements() == 0) return invalid_argument("Must provide at least 1 bias");
  if (x.dtype() != bias.dtype() || (x.dtype() != DType::kQuint8 && x.dtype() != DType::kQint8)) {
    return unsupported_dtype(kOp, bias.dtype());
  }
  if (c.output_dtype(0) != DType::kQint32) return unsupported_dtype(kOp, c.output_dtype(0));
  ARGOSY_ASSIGN_OR_RETURN(const Range rx, range_at(c, 2, kOp));
  ARGOSY_ASSIGN_OR_RETURN(const Range rb, range_at(c, 4, kOp));
  const float most = std::max({rx.greatest, -rx.least, rb.greatest, -rb.least}) * static_cast<float>(1 << 17);
  const Range to{-most, most};
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  return with_integers(x.dtype(), kOp, [&]<typename T>() -> Status {
    const FloatLine<std::int32_t> sums(to);
    const FloatLine<T> xs(rx), bs(rb);
    const auto moved = [&](T q, const FloatLine<T>& from) {
      return static_cast<std::uint32_t>(sums.integer(from.number(q)));
    };
    const std::int64_t n = bias.elements();
    std::vector<std::uint32_t> biases;
    for (std::int64_t i = 0; i < n; ++i) biases.push_back(moved(bias.raw_as<T>()[i], bs));
    parallel_for(x.elements(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        y->raw_as<std::uint32_t>()[i] = moved(x.raw_as<T>()[i], xs) + biases[static_cast<std::size_t>(i % n)];
      }
    });
    return write_range(c, 1, to);
  });
}

template <bool kSix>
Status relu(KernelContext& c) {
  constexpr const char* kOp = kSix ? "QuantizedRelu6" : "QuantizedRelu";
  const Tensor& x = c.input(0);
  if (c.output_dtype(0) != x.dtype() || (x.dtype() != DType::kQuint8 && x.dtype() != DType::kQint32)) {
    return unsupported_dtype(kOp, x.dtype());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Range r, range_at(c, 1, kOp));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  return with_integers(x.dtype(), kOp, [&]<typename T>() -> Status {
    const T least = integer_for<T>(0, r), most = kSix ? integer_for<T>(6, r) : std::numeric_limits<T>::max();
    const T* const in = x.raw_as<T>();
    T* const out = y->raw_as<T>();
    parallel_for(x.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = std::min(std::max(in[i], least), most);
    });
    return write_range(c, 1, r);
  });
}

}  // namespace

void add_arithmetic(KernelRegistry& kernels) {
  kernels.add("QuantizedMatMul", "cpu", MatMul::make);
  kernels.add("QuantizedConv2D", "cpu", Conv2D::make);
  kernels.add("QuantizedBiasAdd", "cpu", bias_add);
  kernels.add("QuantizedRelu", "cpu", relu<false>);
  kernels.add("QuantizedRelu6", "cpu", relu<true>);
}

}  // namespace argosy::quantized
