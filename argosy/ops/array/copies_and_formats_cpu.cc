#include <algorithm>

#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/elementwise/functors.h"
#include "argosy/ops/layout/strided_copy.h"

namespace argosy {

namespace {

class EnsureShape final : public Kernel {
 public:
  explicit EnsureShape(PartialShape shape) : shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<EnsureShape>(init.attrs.get<PartialShape>("shape")));
  }
  Status run(KernelContext& c) override {
    if (!shape_.compatible(c.input(0).shape())) {
      return invalid_argument("Shape of tensor ", c.node(), " ", c.input(0).shape(),
                              " is not compatible with expected shape ", shape_, ".")
          .with_id("ARG-SHAPE-001");
    }
    c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  const PartialShape shape_;
};

Status deep_copy(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, c.input(0).shape()));
  copy_span(*y, 0, c.input(0), 0, c.input(0).elements());
  return ok_status();
}

Status pass_on(KernelContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

// Zeros in any case: memory of others shows nothing.
Status empty(KernelContext& c) {
  if (c.input(0).shape().rank() != 1) {
    return invalid_argument("Empty: shape must be a vector of int32, not of shape ", c.input(0).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "Empty: shape"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  fill_zeros(*y);
  return ok_status();
}

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

class DataFormat final : public Kernel {
 public:
  DataFormat(std::string op, std::vector<int> to, std::string src, std::string dst)
      : op_(std::move(op)), to_(std::move(to)), src_(std::move(src)), dst_(std::move(dst)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& src = init.attrs.get_string("src_format");
    const std::string& dst = init.attrs.get_string("dst_format");
    ARGOSY_ASSIGN_OR_RETURN(std::vector<int> to, format_permutation(init.op.name, src, dst));
    return std::unique_ptr<Kernel>(std::make_unique<DataFormat>(init.op.name, std::move(to), src, dst));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    return dispatch<IndexTypes>(x.dtype(), op_, [&]<typename T>() -> Status {
      return op_ == "DataFormatDimMap" ? map<T>(c, x) : permute<T>(c, x);
    });
  }

 private:
  template <typename T>
  Status map(KernelContext& c, const Tensor& x) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const auto n = static_cast<T>(to_.size());
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const T axis = x.data<T>()[i];
      y->data<T>()[i] = static_cast<T>(to_[static_cast<std::size_t>((axis % n + n) % n)]);
    }
    return ok_status();
  }

  template <typename T>
  Status permute(KernelContext& c, const Tensor& x) {
    const int rank = x.shape().rank();
    const auto all = static_cast<std::int64_t>(to_.size());
    if (rank < 1 || rank > 2 || (x.shape()[0] != all && x.shape()[0] != all - 2) || (rank == 2 && x.shape()[1] != 2)) {
      return invalid_argument(op_, ": the input must have ", all, " or ", all - 2, " elements, or pairs, not shape ",
                              x.shape());
    }
    // Of the spatial axes alone: their order among each other.
    std::string src = src_, dst = dst_;
    if (x.shape()[0] != all) {
      for (std::string* s : {&src, &dst}) std::erase_if(*s, [](char letter) { return letter == 'N' || letter == 'C'; });
      if (static_cast<std::int64_t>(src.size()) != all - 2 || static_cast<std::int64_t>(dst.size()) != all - 2) {
        return invalid_argument(op_, ": formats ", src_, " and ", dst_, " do not name N and C");
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const std::int64_t width = rank == 2 ? 2 : 1;
    for (std::size_t i = 0; i < src.size(); ++i) {
      const auto at = static_cast<std::int64_t>(dst.find(src[i]));
      std::copy_n(x.data<T>() + static_cast<std::int64_t>(i) * width, width, y->data<T>() + at * width);
    }
    return ok_status();
  }

  const std::string op_;
  const std::vector<int> to_;
  const std::string src_, dst_;
};

}  // namespace

void add_array_copies_and_formats(KernelRegistry& kernels) {
  kernels.add("EnsureShape", "cpu", EnsureShape::make);
  kernels.add("DeepCopy", "cpu", deep_copy);
  kernels.add("GuaranteeConst", "cpu", pass_on);
  kernels.add("Empty", "cpu", empty);
  kernels.add("Cross", "cpu", cross);
  kernels.add("AccumulateNV2", "cpu", Accumulate::make);
  kernels.add("ParallelConcat", "cpu", ParallelConcat::make);
  kernels.add("DataFormatDimMap", "cpu", DataFormat::make);
  kernels.add("DataFormatVecPermute", "cpu", DataFormat::make);
}

void add_kernels_cpu_array(KernelRegistry& kernels) {
  add_array_copies_and_formats(kernels);
  add_array_searches(kernels);
  add_array_assignments(kernels);
}

}  // namespace argosy
