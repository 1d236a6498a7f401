#include "argosy/ops/iterator/iterator_kernels.h"
#include "argosy/ops/iterator/optional_value.h"
#include "argosy/ops/list/element_memory.h"

namespace argosy::datasets {

namespace {

Result<Tensor> sum(const Tensor& a, const Tensor& b, Allocator& memory) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return invalid_argument("components of optionals differ: ", dtype_name(a.dtype()), a.shape(), " and ",
                            dtype_name(b.dtype()), b.shape());
  }
  Allocator& host = written_by_host(memory);
  ARGOSY_ASSIGN_OR_RETURN(auto added, sum_of({a, &host}, {b, &host}, memory, nullptr));
  return std::move(added.value);
}

}  // namespace

Result<Variant> OptionalValue::zeros_like(Allocator& memory) const {
  if (!value_) return Variant(std::make_shared<OptionalValue>(std::nullopt));
  Element zeros;
  for (const Tensor& t : *value_) {
    ARGOSY_ASSIGN_OR_RETURN(zeros.emplace_back(), zeros_of(t, memory));
  }
  return Variant(std::make_shared<OptionalValue>(std::move(zeros)));
}

Result<Variant> OptionalValue::plus(const VariantValue& other, Allocator& memory) const {
  const auto* const more = dynamic_cast<const OptionalValue*>(&other);
  if (more == nullptr) return invalid_argument("an ", describe(), " and a ", other.describe(), " cannot be added");
  if (value_.has_value() != more->value_.has_value()) {
    return invalid_argument("Cannot add optionals because one has a value and the other doesn't.");
  }
  if (!value_) return Variant(std::make_shared<OptionalValue>(std::nullopt));
  if (value_->size() != more->value_->size()) {
    return invalid_argument("Cannot add optionals because they have different numbers of components (", value_->size(),
                            " vs. ", more->value_->size(), ").");
  }
  Element added;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(added.emplace_back(), sum((*value_)[i], (*more->value_)[i], memory));
  }
  return Variant(std::make_shared<OptionalValue>(std::move(added)));
}

namespace {

Result<std::shared_ptr<const OptionalValue>> optional_in(const Tensor& handle) {
  if (handle.dtype() == DType::kVariant && handle.elements() == 1) {
    auto value = std::dynamic_pointer_cast<const OptionalValue>(handle.data<Variant>()->value());
    if (value != nullptr) return value;
  }
  return invalid_argument("The given optional does not have a value: it is no optional.");
}

Status from_value(KernelContext& c) {
  Element element;
  for (int i = 0; i < c.num_inputs(); ++i) element.push_back(c.input(i).owned());
  ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(element)));
  c.set_output(0, optional_handle(std::move(element)));
  return ok_status();
}

Status none(KernelContext& c) {
  c.set_output(0, optional_handle(std::nullopt));
  return ok_status();
}

Status has_value(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto optional, optional_in(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<bool>() = optional->value().has_value();
  return ok_status();
}

Status get_value(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto optional, optional_in(c.input(0)));
  if (!optional->value()) return invalid_argument("The given optional does not have a value.");
  const Element& element = *optional->value();
  if (static_cast<int>(element.size()) != c.num_outputs()) {
    return invalid_argument("The given optional has ", element.size(), " components, expected ", c.num_outputs(), ".");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Tensor& t = element[static_cast<std::size_t>(i)];
    if (t.dtype() != c.output_dtype(i)) {
      return invalid_argument("The given optional does not match the expected type for component ", i,
                              ". Expected: ", dtype_name(c.output_dtype(i)), ". Actual: ", dtype_name(t.dtype()), ".");
    }
    c.set_output(i, t);
  }
  return ok_status();
}

}  // namespace

Tensor optional_handle(std::optional<Element> value) {
  return Tensor::scalar(Variant(std::make_shared<OptionalValue>(std::move(value))));
}

void add_optionals(KernelRegistry& kernels) {
  kernels.add("OptionalFromValue", "cpu", from_value);
  kernels.add("OptionalNone", "cpu", none);
  kernels.add("OptionalHasValue", "cpu", has_value);
  kernels.add("OptionalGetValue", "cpu", get_value);
}

}  // namespace argosy::datasets
