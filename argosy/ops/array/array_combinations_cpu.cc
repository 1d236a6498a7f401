#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

Status cross(KernelContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  if (!(a.shape() == b.shape()) || a.shape().rank() == 0) {
    return invalid_argument("Cross: both inputs must be of same shape, with rank 1 or more: ", a.shape(), " and ",
                            b.shape());
  }
  if (a.shape().back() != 3) {
    return failed_precondition("Cross-products are only defined for 3-element vectors, not for shape ", a.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, a.shape()));
  return dispatch<RealTypes>(a.dtype(), "Cross", [&]<typename T>() {
    using S = scalar::compute_t<T>;
    const auto times = [](T u, T v) { return scalar::Mul::call(static_cast<S>(u), static_cast<S>(v)); };
    for (std::int64_t i = 0; i < a.elements(); i += 3) {
      const T *const u = a.data<T>() + i, *const v = b.data<T>() + i;
      T* const to = y->data<T>() + i;
      for (int k = 0; k < 3; ++k) {
        const int p = (k + 1) % 3, q = (k + 2) % 3;
        to[k] = static_cast<T>(scalar::Sub::call(times(u[p], v[q]), times(u[q], v[p])));
      }
    }
    return ok_status();
  });
}

class Accumulate final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Accumulate>());
  }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() != shape) {
        return invalid_argument("AccumulateNV2: input ", i, " has shape ", c.input(i).shape(), " beside ", shape);
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return dispatch<NumberTypes>(y->dtype(), "AccumulateNV2", [&]<typename T>() {
      using S = scalar::compute_t<T>;
      for (std::int64_t k = 0; k < y->elements(); ++k) {
        S sum = static_cast<S>(c.input(0).data<T>()[k]);
        for (int i = 1; i < c.num_inputs(); ++i) sum = scalar::Add::call(sum, static_cast<S>(c.input(i).data<T>()[k]));
        y->data<T>()[k] = static_cast<T>(sum);
      }
      return ok_status();
    });
  }
};

class ParallelConcat final : public Kernel {
 public:
  explicit ParallelConcat(PartialShape shape) : shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ParallelConcat>(init.attrs.get<PartialShape>("shape")));
  }
  Status run(KernelContext& c) override {
    if (!shape_.is_full() || shape_.rank() < 1 || shape_[0] != c.num_inputs()) {
      return invalid_argument("ParallelConcat: ", c.num_inputs(), " inputs of one row each do not have the shape ",
                              shape_);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(shape_.sizes()));
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (!(c.input(i).shape() == shape.with(0, 1))) {
        return invalid_argument("ParallelConcat: input ", i, " has shape ", c.input(i).shape(), ", not ",
                                shape.with(0, 1));
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const std::int64_t row = shape.elements() / shape[0];
    for (int i = 0; i < c.num_inputs(); ++i) copy_span(*y, i * row, c.input(i), 0, row);
    return ok_status();
  }

 private:
  const PartialShape shape_;
};

}  // namespace

void add_array_combinations(KernelRegistry& kernels) {
  kernels.add("Cross", "cpu", cross);
  kernels.add("AccumulateNV2", "cpu", Accumulate::make);
  kernels.add("ParallelConcat", "cpu", ParallelConcat::make);
}

}  // namespace argosy
