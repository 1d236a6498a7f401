#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"

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

// Always zeros: uninitialized memory could show the data of others.
Status empty(KernelContext& c) {
  if (c.input(0).shape().rank() != 1) {
    return invalid_argument("Empty: shape must be a vector of int32, not of shape ", c.input(0).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "Empty: shape"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  fill_zeros(*y);
  return ok_status();
}

}  // namespace

void add_array_copies(KernelRegistry& kernels) {
  kernels.add("EnsureShape", "cpu", EnsureShape::make);
  kernels.add("DeepCopy", "cpu", deep_copy);
  kernels.add("GuaranteeConst", "cpu", pass_on);
  kernels.add("Empty", "cpu", empty);
}

}  // namespace argosy
