#include "argosy/op/state/variable.h"

#include <algorithm>

namespace argosy {

namespace {
Status uninitialized(std::string_view name) {
  return failed_precondition("Attempting to use uninitialized value ", name)
      .with_id("ARG-VAR-001")
      .with_hint("run the variable's initializer (or restore a checkpoint) first");
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

std::int64_t Variable::writes() const {
  MutexLock lock(mutex_);
  return writes_;
}

Result<Tensor> Variable::read_to_host(std::string_view name) const {
  ARGOSY_ASSIGN_OR_RETURN(const Tensor value, read(name));
  if (allocator_.on_host()) return value.clone();
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(dtype_, value.shape(), host_allocator()));
  if (value.bytes() > 0) ARGOSY_RETURN_IF_ERROR(allocator_.copy_out(there.raw(), value.raw(), value.bytes()));
  return there;
}

// copy_elements() in whichever memory this is.
Status Variable::copy(const Tensor& to, const Tensor& from) const {
  if (!allocator_.on_host() && is_plain(to.dtype())) return allocator_.copy_within(to.raw(), from.raw(), from.bytes());
  copy_elements(to, from);
  return ok_status();
}

Status Variable::assign(const Tensor& value, bool validate_shape) {
  if (value.dtype() != dtype_) {
    return invalid_argument("a variable of ", dtype_name(dtype_), " cannot take a value of ",
                            dtype_name(value.dtype()));
  }
  Tensor old;  // released after the lock
  MutexLock lock(mutex_);
  ++writes_;
  const bool fits = value_.valid() ? value_.shape() == value.shape() : shape_.compatible(value.shape());
  if (validate_shape && !fits) {
    const PartialShape held = value_.valid() ? PartialShape(value_.shape()) : shape_;
    return invalid_argument("Assign requires shapes of both tensors to match. lhs shape= ", held,
                            " rhs shape= ", value.shape(), ": a variable of shape ", held,
                            " cannot take a value of shape ", value.shape())
        .with_id("ARG-SHAPE-005");
  }
  if (value_.valid() && value_.shape() == value.shape() && value_.unique()) {
    return copy(value_, value);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor fresh, Tensor::allocate(dtype_, value.shape(), allocator_));
  ARGOSY_RETURN_IF_ERROR(copy(fresh, value));
  old = std::exchange(value_, std::move(fresh));
  return ok_status();
}

Tensor Variable::take() {
  MutexLock lock(mutex_);
  ++writes_;
  return std::exchange(value_, Tensor());
}

Status Variable::make_unique(std::string_view name) {
  ++writes_;
  if (!value_.valid()) [[unlikely]]
    return uninitialized(name);
  if (value_.unique()) [[likely]]
    return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(dtype_, value_.shape(), allocator_));
  ARGOSY_RETURN_IF_ERROR(this->copy(copy, value_));
  value_ = std::move(copy);
  return ok_status();
}

Variable::Together::Together(std::span<Variable* const> variables, std::span<const std::string_view> names)
    : count_(variables.size()) {
  ARGOSY_CHECK(count_ <= kMaxTogether);
  std::copy(variables.begin(), variables.end(), ordered_.begin());
  const auto begin = ordered_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(count_);
  std::sort(begin, end);
  locked_ = static_cast<std::size_t>(std::unique(begin, end) - begin);
  for (std::size_t i = 0; i < locked_; ++i) ordered_[i]->mutex_.lock();
  for (std::size_t i = 0; i < count_ && status_.ok(); ++i) {
    status_ = variables[i]->make_unique(names[i]);
    values_[i] = &variables[i]->value_;
  }
}

Variable::Together::~Together() {
  for (std::size_t i = 0; i < locked_; ++i) ordered_[i]->mutex_.unlock();
}

}  // namespace argosy
