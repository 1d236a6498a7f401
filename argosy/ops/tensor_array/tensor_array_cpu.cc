#include "argosy/op/kernel/forward_input.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/ops/tensor_array/array_state.h"

namespace argosy {

namespace {

Tensor handle_to(std::string name, std::shared_ptr<Resource> resource) {
  return Tensor::scalar(ResourceHandle("", std::move(name), std::move(resource)));
}

// --- stacks ----------------------------------------------------------------------------------------------------------

class NewStack final : public Kernel {
 public:
  NewStack(DType dtype, std::string name) : dtype_(dtype), name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<NewStack>(init.attrs.get_type("elem_type"), std::string(init.node)));
  }
  Status run(KernelContext& c) override {
    std::int64_t max_size = -1;  // version 1 has no limit
    if (c.num_inputs() > 0) {
      ARGOSY_ASSIGN_OR_RETURN(max_size, scalar_input(c.input(0), "max_size"));
    }
    c.set_output(0, handle_to(name_, std::make_shared<StackState>(dtype_, max_size)));
    return ok_status();
  }

 private:
  const DType dtype_;
  const std::string name_;
};

Status push(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto stack, c.resource<StackState>(0));
  ARGOSY_ASSIGN_OR_RETURN(Element element, kept_element(c, c.input(1)));
  ARGOSY_RETURN_IF_ERROR(stack->push(std::move(element)));
  return give_element(c, 0, c.input(1));
}

Status pop(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto stack, c.resource<StackState>(0));
  if (stack->dtype() != c.output_dtype(0)) {
    return invalid_argument("the stack holds ", dtype_name(stack->dtype()), ", not ", dtype_name(c.output_dtype(0)));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Element element, stack->pop());
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, brought(c, element));
  return give_element(c, 0, std::move(value));
}

Status close_stack(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto stack, c.resource<StackState>(0));
  stack->close();
  return ok_status();
}

// --- arrays ----------------------------------------------------------------------------------------------------------

// A flow is a number that nobody reads: it orders what is done to an array. Where the host cannot write it, the one
// that came in goes on, if there was one.
Status set_flow(KernelContext& c, int i, int from = -1) {
  if (element_memory(c, DType::kFloat32).on_host()) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const flow, c.output(i, {}));
    *flow->data<float>() = 0;
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor flow, from >= 0 && c.input(from).shape().rank() == 0
                                           ? kept(c, c.input(from))
                                           : zero_element(c, DType::kFloat32, Shape()));
  c.set_output(i, std::move(flow));
  return ok_status();
}

// Version 1 of an op has no such attribute.
PartialShape element_shape_of(const KernelInit& init) {
  return init.attrs.get_or("element_shape", PartialShape::unknown());
}

// --- arrays by name (version 2): they live where the step keeps things

constexpr const char* kNamedArrays = "_tensor_arrays";

ResourceManager& named_arrays(const KernelContext& c) {
  return c.step() != nullptr ? c.step()->step_resources() : c.resources();
}

// The array that input 0 refers to.
Result<std::shared_ptr<ArrayState>> array_of(const KernelContext& c) {
  const Tensor& handle = c.input(0);
  if (handle.dtype() != DType::kString) return c.resource<ArrayState>(0);
  if (!(handle.shape() == Shape{2})) {
    return invalid_argument("Tensor array handle must be 2-element vector, but had shape: ", handle.shape());
  }
  return named_arrays(c).find<ArrayState>(handle.data<std::string>()[0], handle.data<std::string>()[1]);
}

Result<std::string> name_of_array(const KernelContext& c) {
  if (c.input(0).dtype() == DType::kString) return c.input(0).data<std::string>()[1];
  ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, c.resource_handle(0));
  return handle->name();
}

// Output 0 refers to this array from now on.
Status give_array(KernelContext& c, const std::string& name, std::shared_ptr<ArrayState> array) {
  if (c.output_dtype(0) != DType::kString) {
    c.set_output(0, handle_to(name, std::move(array)));
    return ok_status();
  }
  const auto made = named_arrays(c).find_or_make<ArrayState>(kNamedArrays, name, [&] { return array; });
  ARGOSY_RETURN_IF_ERROR(made.status());
  c.set_output(0, Tensor::vector<std::string>({kNamedArrays, name}));
  return ok_status();
}

class NewArray final : public Kernel {
 public:
  NewArray(ArrayState::Options options, std::string name) : options_(std::move(options)), name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ArrayState::Options options{init.attrs.get_type("dtype"), element_shape_of(init)};
    options.dynamic_size = init.attrs.get_bool("dynamic_size");
    options.clear_after_read = init.attrs.get_bool("clear_after_read");
    options.identical_shapes = init.attrs.get_or("identical_element_shapes", false);
    return std::unique_ptr<Kernel>(std::make_unique<NewArray>(std::move(options), std::string(init.node)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, scalar_input(c.input(0), "size"));
    if (size < 0) return invalid_argument("Size should be >= 0.");
    ARGOSY_RETURN_IF_ERROR(ArrayState::check_size(c, size));
    auto array = std::make_shared<ArrayState>(options_, size);
    // Not another array's name while this one lives, in a loop either.
    const std::string name = str_cat(name_, "_", reinterpret_cast<std::uintptr_t>(array.get()));
    ARGOSY_RETURN_IF_ERROR(give_array(c, c.output_dtype(0) == DType::kString ? name : name_, std::move(array)));
    return c.num_outputs() > 1 ? set_flow(c, 1) : ok_status();
  }

 private:
  const ArrayState::Options options_;
  const std::string name_;
};

class GradientArray final : public Kernel {
 public:
  explicit GradientArray(std::string source) : source_(std::move(source)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GradientArray>(init.attrs.get_string("source")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
    Shape outer;
    if (c.num_inputs() > 2) {
      ARGOSY_ASSIGN_OR_RETURN(const auto sizes, vector_input(c.input(2), "shape_to_prepend"));
      ARGOSY_ASSIGN_OR_RETURN(outer, Shape::make(sizes));
    }
    ARGOSY_ASSIGN_OR_RETURN(auto gradients, array->gradients(source_, outer));
    ARGOSY_ASSIGN_OR_RETURN(const std::string name, name_of_array(c));
    ARGOSY_RETURN_IF_ERROR(give_array(c, str_cat(name, "@", source_), std::move(gradients)));
    return c.num_outputs() > 1 ? set_flow(c, 1, 1) : ok_status();
  }

 private:
  const std::string source_;
};

// The array in input 0, which must hold what output 0 is.
Result<std::shared_ptr<ArrayState>> array_to_read(const KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(auto array, array_of(c));
  if (array->dtype() != c.output_dtype(0)) {
    return invalid_argument("TensorArray dtype is ", dtype_name(array->dtype()), " but Op requested dtype ",
                            dtype_name(c.output_dtype(0)), ".");
  }
  return array;
}

Status read(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_to_read(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t index, scalar_input(c.input(1), "index"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, array->read(c, index));
  return give_element(c, 0, std::move(value));
}

Status write(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t index, scalar_input(c.input(1), "index"));
  ARGOSY_ASSIGN_OR_RETURN(Element value, kept_element(c, c.input(2)));
  ARGOSY_RETURN_IF_ERROR(array->write(c, index, std::move(value)));
  return set_flow(c, 0, 3);
}

// Elements of one shape into rows of output 0; `joined`: their own first axes become one.
Status put_together(KernelContext& c, const std::vector<Tensor>& parts, bool joined) {
  const Shape& first = parts[0].shape();
  std::vector<std::int64_t> sizes(first.sizes().begin(), first.sizes().end());
  if (joined && sizes.empty()) return invalid_argument("scalars cannot be concatenated");
  if (joined) sizes.erase(sizes.begin());
  std::int64_t rows = 0;
  for (const Tensor& part : parts) {
    const auto own = part.shape().sizes();
    const bool fits = std::equal(sizes.begin(), sizes.end(), own.begin() + (joined && !own.empty() ? 1 : 0), own.end());
    if (!fits) {
      return invalid_argument("elements of shapes ", first, " and ", part.shape(), " cannot be put together");
    }
    rows += joined ? own[0] : 1;
  }
  sizes.insert(sizes.begin(), rows);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    const std::int64_t next = at + (joined ? part.shape()[0] : 1);
    ARGOSY_RETURN_IF_ERROR(copy_element(c, y->rows(at, next), part));
    at = next;
  }
  return ok_status();
}

class Gather final : public Kernel {
 public:
  explicit Gather(PartialShape element) : element_(std::move(element)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Gather>(element_shape_of(init)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto array, array_to_read(c));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(c.input(1), "indices"));
    std::vector<Tensor> parts;
    for (const std::int64_t i : indices) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor part, array->read(c, i));
      if (!element_.compatible(part.shape())) {
        return invalid_argument("element ", i, " has shape ", part.shape(), ", not ", element_);
      }
      parts.push_back(std::move(part));
    }
    if (!parts.empty()) return put_together(c, parts, false);
    if (!element_.is_full()) return unimplemented("no elements to gather, and their shape ", element_, " is not known");
    ARGOSY_ASSIGN_OR_RETURN(const Shape one, element_.full());
    return c.output(0, one.inserted(0, 0)).status();
  }

 private:
  const PartialShape element_;
};

Status scatter(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, vector_input(c.input(1), "indices"));
  const Shape& shape = c.input(2).shape();
  if (shape.rank() < 1 || shape[0] != static_cast<std::int64_t>(indices.size())) {
    return invalid_argument("a value of shape ", shape, " has not one row for each of ", indices.size(), " indices");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Element rows, kept_element(c, c.input(2)));
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const Tensor row = rows.value.rows(i, i + 1).reshaped(shape.removed(0));
    ARGOSY_RETURN_IF_ERROR(array->write(c, indices[static_cast<std::size_t>(i)], {row, rows.home}));
  }
  return set_flow(c, 0, 3);
}

class Concat final : public Kernel {
 public:
  explicit Concat(PartialShape rest) : rest_(std::move(rest)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Concat>(init.attrs.get<PartialShape>("element_shape_except0")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto array, array_to_read(c));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, array->size());
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const lengths, c.output(1, {size}));
    if (size == 0) {
      if (!rest_.is_full())
        return unimplemented("TensorArray has size zero, but element_shape_except0 ", rest_, " is not fully defined");
      ARGOSY_ASSIGN_OR_RETURN(const Shape rest, rest_.full());
      return c.output(0, rest.inserted(0, 0)).status();
    }
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < size; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor part, array->read(c, i));
      const bool scalar = part.shape().rank() == 0;
      if (!scalar && !rest_.compatible(part.shape().removed(0))) {
        return invalid_argument("TensorArray was passed element_shape_except0 ", rest_, " but index ", i,
                                " has (excepting dimension 0) shape: ", part.shape().removed(0),
                                " which does not match.");
      }
      lengths->data<std::int64_t>()[i] = scalar ? 0 : part.shape()[0];
      parts.push_back(std::move(part));
    }
    return put_together(c, parts, true);
  }

 private:
  const PartialShape rest_;  // of each element, without its first axis
};

Status split(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths, vector_input(c.input(2), "lengths"));
  const Shape& shape = c.input(1).shape();
  if (shape.rank() < 1) return invalid_argument("a scalar cannot be split");
  std::int64_t rest = shape[0];
  for (const std::int64_t n : lengths) {
    if (n < 0 || n > rest) return invalid_argument("lengths do not add up to ", shape[0]);
    rest -= n;
  }
  if (rest != 0) return invalid_argument("lengths do not add up to ", shape[0]);
  ARGOSY_ASSIGN_OR_RETURN(const Element rows, kept_element(c, c.input(1)));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(
        array->write(c, static_cast<std::int64_t>(i), {rows.value.rows(at, at + lengths[i]), rows.home}));
    at += lengths[i];
  }
  return set_flow(c, 0, 3);
}

Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t n, array->size());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(n);
  return ok_status();
}

Status close_array(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto array, array_of(c));
  array->close();
  return ok_status();
}

}  // namespace

void add_kernels_cpu_tensor_array(KernelRegistry& kernels) {
  for (const char* v : {"", "V2"}) {
    kernels.add(v[0] == 0 ? "Stack" : "StackV2", "cpu", NewStack::make);
    kernels.add(str_cat("StackPush", v), "cpu", push);
    kernels.add(str_cat("StackPop", v), "cpu", pop);
    kernels.add(str_cat("StackClose", v), "cpu", close_stack);
  }
  for (const char* v : {"", "V2", "V3"}) {
    kernels.add(str_cat("TensorArray", v), "cpu", NewArray::make);
    kernels.add(str_cat("TensorArrayGrad", v), "cpu", GradientArray::make);
    kernels.add(str_cat("TensorArrayRead", v), "cpu", read);
    kernels.add(str_cat("TensorArrayWrite", v), "cpu", write);
    kernels.add(str_cat("TensorArrayGather", v), "cpu", Gather::make);
    kernels.add(str_cat("TensorArrayScatter", v), "cpu", scatter);
    kernels.add(str_cat("TensorArrayConcat", v), "cpu", Concat::make);
    kernels.add(str_cat("TensorArraySplit", v), "cpu", split);
    kernels.add(str_cat("TensorArraySize", v), "cpu", size);
    kernels.add(str_cat("TensorArrayClose", v), "cpu", close_array);
  }
  kernels.add("TensorArrayGradWithShape", "cpu", GradientArray::make);
}

}  // namespace argosy
