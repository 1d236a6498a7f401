#include <algorithm>
#include <cstring>

#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

class Const final : public Kernel {
 public:
  explicit Const(Tensor value) : value_(std::move(value)) {}
  Status run(KernelContext& c) override {
    c.set_output(0, value_);
    return ok_status();
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Const>(init.attrs.get<Tensor>("value")));
  }

 private:
  Tensor value_;
};

Status not_fed(KernelContext& c) {
  return invalid_argument("You must feed a value for placeholder tensor '", c.node(), "' with dtype ",
                          dtype_name(c.output_dtype(0)))
      .with_id("ARG-FEED-001")
      .with_hint(str_cat("add '", c.node(), "' to the feeds"));
}

class Missing final : public Kernel {
 public:
  explicit Missing(Status error) : error_(std::move(error)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::int64_t code = init.attrs.get_int("code");
    if (code > static_cast<int>(Code::kUnauthenticated))
      return invalid_argument("_Missing: ", code, " is no error's code");
    const std::string& message = init.attrs.get_string("message");
    if (message.empty()) return invalid_argument("_Missing: an error without a message");
    return std::unique_ptr<Kernel>(std::make_unique<Missing>(Status(static_cast<Code>(code), message)));
  }
  Status run(KernelContext&) override { return error_; }

 private:
  const Status error_;
};

// Fails with the error that the replaced node would return.
class ShapeError final : public Kernel {
 public:
  ShapeError(Status error, std::string op) : error_(std::move(error)), op_(std::move(op)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::int64_t code = init.attrs.get_int("code");
    if (code > static_cast<int>(Code::kUnauthenticated)) {
      return invalid_argument("_ShapeError: ", code, " is no error's code");
    }
    if (init.attrs.get_string("message").empty()) return invalid_argument("_ShapeError: it has no message");
    Status error = Status(static_cast<Code>(code), init.attrs.get_string("message"))
                       .with_id(init.attrs.get_string("id"))
                       .with_hint(init.attrs.get_string("hint"));
    return std::unique_ptr<Kernel>(std::make_unique<ShapeError>(std::move(error), init.attrs.get_string("op")));
  }
  Status run(KernelContext& c) override {
    return Status(error_).with_where(str_cat("node '", c.node(), "' (", op_, ")"));
  }

 private:
  const Status error_;
  const std::string op_;
};

Status identity(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
  return ok_status();
}

// Forwards all inputs. Its definition does not declare that, since a declaration covers output 0 only.
Status identity_n(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(forward_input(c, i, c.input(i)));
  return ok_status();
}

class PlaceholderWithDefault final : public Kernel {
 public:
  explicit PlaceholderWithDefault(PartialShape shape) : shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<PlaceholderWithDefault>(init.attrs.get<PartialShape>("shape")));
  }
  Status run(KernelContext& c) override {
    if (!shape_.compatible(c.input(0).shape())) {
      return invalid_argument("PlaceholderWithDefault: default of shape ", c.input(0).shape(), " does not fit shape ",
                              shape_);
    }
    return identity(c);
  }

 private:
  PartialShape shape_;
};

// Zeros; an unknown size counts as 0.
Status fake_param(KernelContext& c, const AttrMap& attrs) {
  std::vector<std::int64_t> sizes;
  const auto& shape = attrs.get<PartialShape>("shape");
  if (shape.has_rank()) sizes = shape.sizes();
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 0);
  ARGOSY_ASSIGN_OR_RETURN(const Shape full, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, full));
  if (is_plain(y->dtype())) std::memset(y->raw(), 0, y->bytes());
  return ok_status();
}

Status no_op(KernelContext&) { return ok_status(); }

Status zeros_like(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, c.input(0).shape(), {0}));
  if (is_plain(y->dtype())) {
    std::memset(y->raw(), 0, y->bytes());
    return ok_status();
  }
  if (y->dtype() == DType::kString) return ok_status();  // default-constructed: empty
  if (y->dtype() == DType::kVariant) {
    for (std::int64_t i = 0; i < y->elements(); ++i) {
      const auto& value = c.input(0).data<Variant>()[i].value();
      if (!value) continue;
      ARGOSY_ASSIGN_OR_RETURN(y->data<Variant>()[i], value->zeros_like(c.allocator()));
    }
    return ok_status();
  }
  return unsupported_dtype("ZerosLike", y->dtype());
}

Status ones_like(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, c.input(0).shape(), {0}));
  if (y->dtype() == DType::kBool) {
    std::memset(y->raw(), 1, y->bytes());
    return ok_status();
  }
  return dispatch<NumberTypes>(y->dtype(), "OnesLike", [&]<typename T>() {
    std::fill_n(y->data<T>(), y->elements(), T(1));
    return ok_status();
  });
}

Status fill(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "Fill: dims"));
  if (c.input(1).shape().rank() != 0) {
    return invalid_argument("Fill: value must be a scalar, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->dtype() == DType::kString) {
    std::fill_n(y->data<std::string>(), y->elements(), *c.input(1).data<std::string>());
    return ok_status();
  }
  return dispatch_size(y->dtype(), "Fill", [&]<typename T>() {
    std::fill_n(y->raw_as<T>(), y->elements(), *c.input(1).raw_as<T>());
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_constant(KernelRegistry& kernels) {
  kernels.add("Const", "cpu", Const::make);
  for (const char* op : {"Placeholder", "PlaceholderV2", "_Arg"}) kernels.add(op, "cpu", not_fed);
  kernels.add("_Missing", "cpu", Missing::make);
  kernels.add("_ShapeError", "cpu", ShapeError::make);
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "DebugGradientIdentity"}) {
    kernels.add(op, "cpu", identity);
  }
  kernels.add("IdentityN", "cpu", identity_n);
  kernels.add("PlaceholderWithDefault", "cpu", PlaceholderWithDefault::make);
  kernels.add("FakeParam", "cpu", AttrKernel<fake_param>::make);
  kernels.add("NoOp", "cpu", no_op);
  kernels.add("ZerosLike", "cpu", zeros_like);
  kernels.add("OnesLike", "cpu", ones_like);
  kernels.add("Fill", "cpu", fill);
}

}  // namespace argosy
