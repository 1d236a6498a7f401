#include <cstring>

#include "argosy/ops/tensor_array/array_state.h"

namespace argosy {

Status StackState::push(Tensor element) {
  if (element.dtype() != dtype_) {
    return invalid_argument("a stack of ", dtype_name(dtype_), " cannot take a ", dtype_name(element.dtype()));
  }
  MutexLock lock(mutex_);
  if (closed_) return invalid_argument("the stack is closed");
  if (max_size_ >= 0 && static_cast<std::int64_t>(elements_.size()) >= max_size_) {
    return invalid_argument("Stack overflowed its max_size (", max_size_, ")");
  }
  elements_.push_back(std::move(element));
  return ok_status();
}

Result<Tensor> StackState::pop() {
  MutexLock lock(mutex_);
  if (elements_.empty()) return invalid_argument("the stack is empty: there is nothing to pop");
  Tensor top = std::move(elements_.back());
  elements_.pop_back();
  return top;
}

void StackState::close() {
  std::vector<Tensor> doomed;  // released after the lock
  MutexLock lock(mutex_);
  closed_ = true;
  doomed.swap(elements_);
}

ArrayState::ArrayState(Options options, std::int64_t size)
    : dtype_(options.dtype), options_(std::move(options)), elements_(static_cast<std::size_t>(size)) {}

Result<std::int64_t> ArrayState::size() {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  return static_cast<std::int64_t>(elements_.size());
}

Status ArrayState::write(std::int64_t index, Tensor element, Allocator& memory) {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  const auto size = static_cast<std::int64_t>(elements_.size());
  if (index < 0 || index >= kMaxSize || (index >= size && !options_.dynamic_size)) {
    return invalid_argument("Tried to write to index ", index, " but array is not resizeable and size is: ", size);
  }
  if (element.dtype() != options_.dtype) {
    return invalid_argument("an array of ", dtype_name(options_.dtype), " cannot take a ", dtype_name(element.dtype()));
  }
  if (!options_.element_shape.compatible(element.shape())) {
    return invalid_argument("an array of elements of shape ", options_.element_shape, " cannot take one of shape ",
                            element.shape());
  }
  if (options_.identical_shapes) options_.element_shape = element.shape();
  if (index >= size) elements_.resize(static_cast<std::size_t>(index) + 1);
  Element& e = elements_[static_cast<std::size_t>(index)];
  if (e.cleared) {
    return invalid_argument("Could not write to TensorArray index ", index, " because it has already been read.");
  }
  if (!e.value.valid()) {
    e.shape = element.shape();
    e.value = std::move(element);
    return ok_status();
  }
  if (!options_.sums) {
    return invalid_argument("Could not write to TensorArray index ", index, " because it has already been written to.");
  }
  if (!(e.value.shape() == element.shape())) {
    return invalid_argument("gradients of shapes ", e.value.shape(), " and ", element.shape(), " cannot be added");
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor sum, Tensor::allocate(element.dtype(), element.shape(), memory));
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(element.dtype(), "TensorArrayWrite", [&]<typename T>() {
    for (std::int64_t i = 0; i < sum.elements(); ++i) {
      sum.data<T>()[i] = static_cast<T>(e.value.data<T>()[i] + element.data<T>()[i]);
    }
    return ok_status();
  }));
  e.value = std::move(sum);
  return ok_status();
}

Result<Tensor> ArrayState::read(std::int64_t index, Allocator& memory) {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  const auto size = static_cast<std::int64_t>(elements_.size());
  if (index < 0 || index >= size) {
    return invalid_argument("Tried to read from index ", index, " but array size is: ", size);
  }
  Element& e = elements_[static_cast<std::size_t>(index)];
  if (e.cleared) {
    return invalid_argument("Could not read index ", index,
                            " twice because it was cleared after a previous read (perhaps try setting "
                            "clear_after_read = false?)");
  }
  if (!e.value.valid()) {
    if (!e.shape && !options_.element_shape.is_full()) {
      return invalid_argument("Could not read from TensorArray index ", index,
                              ": it was never written, and the elements' shape ", options_.element_shape,
                              " is not fully known");
    }
    Shape shape;
    if (e.shape) {
      shape = *e.shape;
    } else {
      ARGOSY_ASSIGN_OR_RETURN(shape, options_.element_shape.full());
    }
    ARGOSY_ASSIGN_OR_RETURN(e.value, Tensor::allocate(options_.dtype, shape, memory));
    if (is_plain(options_.dtype)) std::memset(e.value.raw(), 0, e.value.bytes());
  }
  Tensor value = e.value;
  if (options_.clear_after_read) {
    e.value = Tensor();
    e.cleared = true;
  }
  return value;
}

Result<std::shared_ptr<ArrayState>> ArrayState::gradients(const std::string& source, const Shape& outer) {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  options_.dynamic_size = false;
  std::shared_ptr<ArrayState>& found = gradients_[source];
  if (!found) {
    const auto within = [&](std::span<const std::int64_t> sizes) {
      std::vector<std::int64_t> all(outer.sizes().begin(), outer.sizes().end());
      all.insert(all.end(), sizes.begin(), sizes.end());
      return all;
    };
    Options options{options_.dtype, options_.element_shape};
    if (options_.element_shape.has_rank()) options.element_shape = PartialShape(within(options_.element_shape.sizes()));
    options.clear_after_read = false;
    options.sums = true;
    auto made = std::make_shared<ArrayState>(options, static_cast<std::int64_t>(elements_.size()));
    MutexLock inner(made->mutex_);
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (!elements_[i].shape) continue;
      ARGOSY_ASSIGN_OR_RETURN(made->elements_[i].shape, Shape::make(within(elements_[i].shape->sizes())));
    }
    found = std::move(made);
  }
  return found;
}

void ArrayState::close() {
  std::vector<Element> doomed;  // released after the lock
  MutexLock lock(mutex_);
  closed_ = true;
  doomed.swap(elements_);
}

}  // namespace argosy
