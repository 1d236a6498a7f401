#include <algorithm>
#include <array>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace {

using Counted = TypeList<std::int32_t, std::int64_t, float, double>;

// One row of values into one row of bins.
template <typename V, typename T>
Status count(const V* values, const T* weights, std::int64_t n, bool binary, T* bins, std::int64_t size) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (values[i] < 0)
      return invalid_argument("Input arr must be non-negative! bincount: value ", i, " is ", values[i],
                              "; values must not be negative");
    if (values[i] >= size) continue;
    if (binary) {
      bins[values[i]] = T(1);
    } else {
      bins[values[i]] += weights != nullptr ? weights[i] : T(1);
    }
  }
  return ok_status();
}

// `by_rows`: bins for each row of a matrix apart.
template <typename V>
Status count_all(KernelContext& c, bool by_rows, bool binary) {
  const Tensor& values = c.input(0);
  const Tensor& weights = c.input(2);
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("bincount: size must be one number, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, to_int64(c.input(1), "bincount: size"));
  if (size < 0)
    return invalid_argument("size (", size, ") must be non-negative: bincount: size must not be negative: ", size);
  if (weights.elements() > 0 && !(weights.shape() == values.shape())) {
    return invalid_argument(
        "Input indices and weights must have the same size: `weights` must be the same shape as `arr` or a length-0 "
        "`Tensor`: bincount: weights must be empty or have the shape of the values, ",
        values.shape(), ", not ", weights.shape());
  }
  const std::int64_t rows = by_rows ? values.shape()[0] : 1;
  const std::int64_t n = rows == 0 ? 0 : values.elements() / rows;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape,
                          by_rows ? Shape::make(std::array{rows, size}) : Shape::make(std::array{size}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const bins, c.output(0, shape));
  return dispatch<Counted>(bins->dtype(), "bincount", [&]<typename T>() -> Status {
    std::fill_n(bins->data<T>(), bins->elements(), T(0));
    const T* const w = weights.elements() > 0 ? weights.data<T>() : nullptr;
    for (std::int64_t r = 0; r < rows; ++r) {
      ARGOSY_RETURN_IF_ERROR(count(values.data<V>() + r * n, w != nullptr ? w + r * n : nullptr, n, binary,
                                   bins->data<T>() + r * size, size));
    }
    return ok_status();
  });
}

Status bincount(KernelContext& c) { return count_all<std::int32_t>(c, false, false); }

class DenseBincount final : public Kernel {
 public:
  explicit DenseBincount(bool binary) : binary_(binary) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<DenseBincount>(init.attrs.get_bool("binary_output")));
  }
  Status run(KernelContext& c) override {
    const Tensor& values = c.input(0);
    if (values.shape().rank() > 2) {
      return invalid_argument("DenseBincount: input must be a vector or a matrix, not of shape ", values.shape());
    }
    const bool by_rows = values.shape().rank() == 2;
    if (values.dtype() == DType::kInt32) return count_all<std::int32_t>(c, by_rows, binary_);
    return count_all<std::int64_t>(c, by_rows, binary_);
  }

 private:
  const bool binary_;
};

}  // namespace

void add_kernels_cpu_bincount(KernelRegistry& kernels) {
  kernels.add("Bincount", "cpu", bincount);
  kernels.add("DenseBincount", "cpu", DenseBincount::make);
}

}  // namespace argosy
