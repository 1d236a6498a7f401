#include "argosy/op/variable.h"

#include <algorithm>
#include <vector>

namespace argosy {

namespace {
Status uninitialized(std::string_view name) {
  return failed_precondition("attempting to use uninitialized value ", name)
      .with_id("ARG-VAR-001")
      .with_next("run the variable's initializer (or restore a checkpoint) first");
}
}  // namespace

std::string Variable::describe() const { return str_cat("Variable ", dtype_name(dtype_), shape_.to_string()); }

bool Variable::initialized() const {
  MutexLock lock(mutex_);
  return value_.valid();
}

Result<Tensor> Variable::read(std::string_view name) const {
  MutexLock lock(mutex_);
  if (!value_.valid()) return uninitialized(name);
  return value_;
}

Status Variable::assign(const Tensor& value, bool validate_shape) {
  if (value.dtype() != dtype_) {
    return invalid_argument("a variable of ", dtype_name(dtype_), " cannot take a value of ",
                            dtype_name(value.dtype()));
  }
  if (validate_shape && !shape_.compatible(value.shape())) {
    return invalid_argument("a variable of shape ", shape_, " cannot take a value of shape ", value.shape())
        .with_id("ARG-SHAPE-005");
  }
  Tensor old;  // released after the lock
  MutexLock lock(mutex_);
  if (value_.valid() && value_.unique() && value_.shape() == value.shape()) {
    copy_elements(value_, value);
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor fresh, Tensor::allocate(dtype_, value.shape(), allocator_));
  copy_elements(fresh, value);
  old = std::exchange(value_, std::move(fresh));
  return ok_status();
}

Status Variable::make_unique(std::string_view name) {
  if (!value_.valid()) return uninitialized(name);
  if (value_.unique()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(dtype_, value_.shape(), allocator_));
  copy_elements(copy, value_);
  value_ = std::move(copy);
  return ok_status();
}

Status Variable::update(std::string_view name, const std::function<Status(Tensor&)>& update) {
  MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(make_unique(name));
  return update(value_);
}

Status Variable::update_all(std::span<Variable* const> variables, std::span<const std::string_view> names,
                            const std::function<Status(std::span<Tensor* const>)>& update) {
  std::vector<Variable*> ordered(variables.begin(), variables.end());
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  for (Variable* v : ordered) v->mutex_.lock();
  Status status;
  std::vector<Tensor*> values;
  for (std::size_t i = 0; i < variables.size() && status.ok(); ++i) {
    status = variables[i]->make_unique(names[i]);
    values.push_back(&variables[i]->value_);
  }
  if (status.ok()) status = update(values);
  for (Variable* v : ordered) v->mutex_.unlock();
  return status;
}

}  // namespace argosy
