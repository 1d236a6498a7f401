#include <limits>

#include "argosy/base/threads/parallel.h"
#include "argosy/device/device.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/state/scatter_kernels.h"

namespace argosy {

namespace {

// --- making and finding ----------------------------------------------------------------------------------------------

// VariableV2, VarHandleOp: the variable of this name, looked up once and again only when a resource has gone since.
class Handle final : public Kernel {
 public:
  Handle(std::string container, std::string name, DType dtype, PartialShape shape)
      : container_(std::move(container)), name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& container = init.attrs.get_string("container");
    const std::string& shared = init.attrs.get_string("shared_name");
    // The scalar shape of the old "Variable" op says nothing.
    const PartialShape& shape = init.attrs.get<PartialShape>("shape");
    const bool unsaid = init.op.name == "Variable" && shape.rank() == 0;
    auto kernel = std::make_unique<Handle>(container.empty() ? "localhost" : container,
                                           shared.empty() ? std::string(init.node) : shared,
                                           init.attrs.get_type("dtype"), unsaid ? PartialShape::unknown() : shape);
    if (init.resources != nullptr) {
      kernel->resources_ = init.resources;
      kernel->generation_ = init.resources->generation();
      Allocator& memory = init.device != nullptr ? init.device->allocator() : host_allocator();
      ARGOSY_ASSIGN_OR_RETURN(kernel->handle_, kernel->look_up(*init.resources, memory));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    if (&c.resources() == resources_ && resources_->generation() == generation_) [[likely]] {
      c.set_output(0, handle_);
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor handle, look_up(c.resources(), c.allocator()));
    c.set_output(0, std::move(handle));
    return ok_status();
  }

 private:
  Result<Tensor> look_up(ResourceManager& resources, Allocator& memory) const {
    const auto fresh = [&] { return std::make_shared<Variable>(dtype_, shape_, memory); };
    ARGOSY_ASSIGN_OR_RETURN(auto variable, resources.find_or_make<Variable>(container_, name_, fresh));
    const auto fits = [&] { return variable->dtype() == dtype_ && variable->shape().compatible(shape_); };
    if (!fits() && variable.use_count() == 2) {
      // Left behind by a session that is gone, the next trial of a sweep declares it anew.
      variable.reset();
      ARGOSY_RETURN_IF_ERROR(resources.remove(container_, name_));
      ARGOSY_ASSIGN_OR_RETURN(variable, resources.find_or_make<Variable>(container_, name_, fresh));
    }
    if (!fits()) {
      return invalid_argument("variable \"", name_, "\" is ", dtype_name(variable->dtype()), variable->shape(),
                              " in a session that is open, ", dtype_name(dtype_), shape_, " here")
          .with_id("ARG-VAR-002")
          .with_hint("give one of them another name or container");
    }
    return Tensor::scalar(ResourceHandle(container_, name_, std::move(variable)));
  }

  const std::string container_, name_;
  const DType dtype_;
  const PartialShape shape_;
  // Of the device the kernel was made for.
  ResourceManager* resources_ = nullptr;
  std::uint64_t generation_ = 0;
  Tensor handle_;
};

class TemporaryVariable final : public Kernel {
 public:
  TemporaryVariable(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& name = init.attrs.get_string("var_name");
    return std::unique_ptr<Kernel>(std::make_unique<TemporaryVariable>(name.empty() ? std::string(init.node) : name,
                                                                       init.attrs.get_type("dtype"),
                                                                       init.attrs.get<PartialShape>("shape")));
  }
  Status run(KernelContext& c) override {
    c.set_output(0,
                 Tensor::scalar(ResourceHandle("", name_, std::make_shared<Variable>(dtype_, shape_, c.allocator()))));
    return ok_status();
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};

// --- reading ---------------------------------------------------------------------------------------------------------

std::string_view name_of(const KernelContext& c, int i) { return c.input(i).data<ResourceHandle>()->name(); }

Status read(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  if (v->dtype() != c.output_dtype(0)) {
    return invalid_argument("ReadVariableOp: variable ", name_of(c, 0), " is ", dtype_name(v->dtype()), ", not ",
                            dtype_name(c.output_dtype(0)));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, v->read(name_of(c, 0)));
  c.set_output(0, std::move(value));
  return ok_status();
}

Status select_reference(KernelContext& c) {
  const Tensor& index = c.input(0);
  if (index.shape().rank() != 0) return invalid_argument("Index must be a scalar, but it has shape ", index.shape());
  const std::int32_t i = *index.data<std::int32_t>(), count = c.num_inputs() - 1;
  if (i < 0 || i >= count) return invalid_argument("Index must be in the range [0, ", count, ") but got ", i);
  c.set_output(0, c.input(i + 1));
  return ok_status();
}

Status forward_input(KernelContext& c) {
  if (c.input(0).dtype() != DType::kResource) return invalid_argument("a reference is no handle");
  c.set_output(0, c.input(0));
  return ok_status();
}

Status read_again(KernelContext& c) {
  const Tensor &value = c.input(0), &now = c.input(1);
  if (value.elements() != now.elements()) return argosy::forward_input(c, 0, value);
  return argosy::forward_input(c, 0, now.reshaped(value.shape()));
}

class DestroyTemporary final : public Kernel {
 public:
  explicit DestroyTemporary(std::string name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<DestroyTemporary>(init.attrs.get_string("var_name")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
    if (!names(name_of(c, 0))) {
      return not_found("Resource ", name_, " does not exist: the temporary variable is '", name_of(c, 0), "'");
    }
    if (v->dtype() != c.output_dtype(0)) {
      return invalid_argument("DestroyTemporaryVariable: '", name_of(c, 0), "' is of ", dtype_name(v->dtype()),
                              ", not ", dtype_name(c.output_dtype(0)));
    }
    Tensor value = v->take();
    if (!value.valid()) return v->read(name_of(c, 0)).status();
    c.set_output(0, std::move(value));
    return ok_status();
  }

 private:
  // A variable that is named after its node has the callers' names before it, where the node was a function's.
  bool names(std::string_view variable) const { return variable == name_ || variable.ends_with(str_cat("/", name_)); }
  const std::string name_;
};

// Values are shared until somebody writes: there is no copy to save. The handle must be a variable's all the same.
Status disable_copy_on_read(KernelContext& c) { return c.variable(0).status(); }

Status is_initialized(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<bool>() = v->initialized();
  return ok_status();
}

Status shape_of(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor value, v->read(name_of(c, 0)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {value.shape().rank()}));
  return dispatch<IndexTypes>(y->dtype(), "VariableShape", [&]<typename T>() -> Status {
    T* to = y->data<T>();
    for (const std::int64_t size : value.shape().sizes()) {
      if (size > std::numeric_limits<T>::max()) {
        return invalid_argument("VariableShape: size ", size, " does not fit into ", dtype_name(y->dtype()));
      }
      *to++ = static_cast<T>(size);
    }
    return ok_status();
  });
}

// --- writing ---------------------------------------------------------------------------------------------------------

class Assign final : public Kernel {
 public:
  explicit Assign(bool validate_shape) : validate_shape_(validate_shape) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
    const Status done = v->assign(c.input(1), validate_shape_);
    if (!done.ok()) {
      return Status(done.code(), str_cat("variable ", name_of(c, 0), ": ", done.message()))
          .with_id(std::string(done.id()));
    }
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Assign>(init.attrs.get_bool("validate_shape")));
  }

 private:
  const bool validate_shape_;
};

template <typename Update>
Status assign_update(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  const Tensor& by = c.input(1);
  const Status done = v->update(name_of(c, 0), [&](Tensor& value) -> Status {
    if (value.dtype() != by.dtype() || !(value.shape() == by.shape())) {
      return invalid_argument("Cannot update variable with shape ", value.shape(), " using a Tensor with shape ",
                              by.shape(), ", shapes must be equal.: variable ", name_of(c, 0), " of ",
                              dtype_name(value.dtype()), ", the update of ", dtype_name(by.dtype()))
          .with_id("ARG-SHAPE-006");
    }
    return dispatch<NumberTypes>(value.dtype(), "AssignAdd", [&]<typename T>() {
      T* const to = value.data<T>();
      const T* const from = by.data<T>();
      parallel_for(value.elements(), 32768, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = Update::template of<T>(to[i], from[i]);
      });
      return ok_status();
    });
  });
  ARGOSY_RETURN_IF_ERROR(done);
  if (c.num_outputs() > 0) c.set_output(0, c.input(0));
  return ok_status();
}

class CountUpTo final : public Kernel {
 public:
  explicit CountUpTo(std::int64_t limit) : limit_(limit) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<CountUpTo>(init.attrs.get_int("limit")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
    return v->update(name_of(c, 0), [&](Tensor& value) -> Status {
      if (value.shape().rank() != 0 || value.dtype() != c.output_dtype(0)) {
        return invalid_argument("CountUpTo: variable ", name_of(c, 0), " must be a scalar of ",
                                dtype_name(c.output_dtype(0)), ", not ", dtype_name(value.dtype()), value.shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const before, c.output(0, {}));
      return dispatch<IndexTypes>(value.dtype(), "CountUpTo", [&]<typename T>() -> Status {
        T& count = *value.data<T>();
        if (count >= limit_ || count == std::numeric_limits<T>::max()) {
          return out_of_range("Reached limit of ", limit_);
        }
        *before->data<T>() = count++;
        return ok_status();
      });
    });
  }

 private:
  const std::int64_t limit_;
};

// A variable keeps its place, for those who hold handles to it, but loses its value; anything else goes.
class Destroy final : public Kernel {
 public:
  explicit Destroy(const KernelInit& init)
      : ignore_missing_(init.attrs.get_bool("ignore_lookup_error")), session_(init.op_state) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Destroy>(init));
  }
  Status run(KernelContext& c) override {
    const auto handle = c.resource_handle(0);
    bool found = false;
    if (handle.ok()) {
      if (auto* v = dynamic_cast<Variable*>((*handle)->resource().get())) {
        found = v->take().valid();
      } else {
        found = manager_of(c, **handle).remove((*handle)->container(), (*handle)->name()).ok();
      }
    }
    if (found || ignore_missing_) return ok_status();
    if (!handle.ok()) return handle.status();
    return not_found("there is no resource \"", (*handle)->name(), "\" to destroy");
  }

 private:
  // What has no shared name is the session's.
  ResourceManager& manager_of(KernelContext& c, const ResourceHandle& handle) const {
    if (session_ == nullptr) return c.resources();
    const auto own = session_->find<Resource>(handle.container(), handle.name());
    return own.ok() && *own == handle.resource() ? *session_ : c.resources();
  }

  const bool ignore_missing_;
  const std::shared_ptr<ResourceManager> session_;
};

}  // namespace

void add_kernels_cpu_state(KernelRegistry& kernels) {
  for (const char* op : {"VariableV2", "Variable", "VarHandleOp"}) kernels.add(op, "cpu", Handle::make);
  kernels.add("TemporaryVariable", "cpu", TemporaryVariable::make);
  kernels.add("DisableCopyOnRead", "cpu", disable_copy_on_read);
  kernels.add("DestroyTemporaryVariable", "cpu", DestroyTemporary::make);
  for (const char* op : {"RefIdentity", "DebugGradientRefIdentity", "_RefToHandle", "_HandleToRef"})
    kernels.add(op, "cpu", forward_input);
  kernels.add("RefSelect", "cpu", select_reference);
  kernels.add("_ReadAgain", "cpu", read_again);
  kernels.add("ReadVariableOp", "cpu", read);
  for (const char* op : {"IsVariableInitialized", "VarIsInitializedOp"}) kernels.add(op, "cpu", is_initialized);
  kernels.add("VariableShape", "cpu", shape_of);
  for (const char* op : {"Assign", "AssignVariableOp"}) kernels.add(op, "cpu", Assign::make);
  for (const char* op : {"AssignAdd", "AssignAddVariableOp"}) kernels.add(op, "cpu", assign_update<state::Add>);
  for (const char* op : {"AssignSub", "AssignSubVariableOp"}) kernels.add(op, "cpu", assign_update<state::Sub>);
  for (const char* op : {"CountUpTo", "ResourceCountUpTo"}) kernels.add(op, "cpu", CountUpTo::make);
  kernels.add("DestroyResourceOp", "cpu", Destroy::make);
  state::add_scatter_kernels(kernels);
  state::add_gather_kernels(kernels);
}

}  // namespace argosy
