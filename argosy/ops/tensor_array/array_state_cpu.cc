#include "argosy/ops/tensor_array/array_state.h"

namespace argosy {

Status StackState::push(Element element) {
  if (element.value.dtype() != dtype_) {
    return invalid_argument("a stack of ", dtype_name(dtype_), " cannot take a ", dtype_name(element.value.dtype()));
  }
  MutexLock lock(mutex_);
  if (closed_) return invalid_argument("the stack is closed");
  if (max_size_ >= 0 && static_cast<std::int64_t>(elements_.size()) >= max_size_) {
    return invalid_argument("Stack overflowed its max_size (", max_size_, ")");
  }
  elements_.push_back(std::move(element));
  return ok_status();
}

Result<Element> StackState::pop() {
  MutexLock lock(mutex_);
  if (elements_.empty()) return invalid_argument("the stack is empty: there is nothing to pop");
  Element top = std::move(elements_.back());
  elements_.pop_back();
  return top;
}

void StackState::close() {
  std::vector<Element> doomed;  // released after the lock
  MutexLock lock(mutex_);
  closed_ = true;
  doomed.swap(elements_);
}

void StackState::release_contents() {
  if (may_be_handle(dtype_)) close();
}

Status ArrayState::check_size(const KernelContext& c, std::int64_t size) {
  if (size > kMaxSize) return resource_exhausted("a TensorArray of ", size, " elements: ", kMaxSize, " are allowed");
  return room_for_places(c, size, sizeof(Place));
}

ArrayState::ArrayState(Options options, std::int64_t size)
    : dtype_(options.dtype), options_(std::move(options)), elements_(static_cast<std::size_t>(size)) {}

Result<std::int64_t> ArrayState::size() {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  return static_cast<std::int64_t>(elements_.size());
}

Status ArrayState::write(const KernelContext& c, std::int64_t index, Element written) {
  const Tensor& element = written.value;
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
  if (index >= size) ARGOSY_RETURN_IF_ERROR(check_size(c, index + 1));
  if (options_.identical_shapes) options_.element_shape = element.shape();
  if (index >= size) elements_.resize(static_cast<std::size_t>(index) + 1);
  Place& e = elements_[static_cast<std::size_t>(index)];
  if (e.cleared) {
    return invalid_argument("Could not write to TensorArray index ", index, " because it has already been read.");
  }
  if (!e.value.valid()) {
    e.shape = element.shape();
    e.value = std::move(written);
    return ok_status();
  }
  if (!options_.sums) {
    return invalid_argument("Could not write to TensorArray index ", index, " because it has already been written to.");
  }
  if (!(e.value.value.shape() == element.shape())) {
    return invalid_argument("gradients of shapes ", e.value.value.shape(), " and ", element.shape(),
                            " cannot be added");
  }
  Allocator& memory = element_memory(c, element.dtype());
  ARGOSY_ASSIGN_OR_RETURN(const Element sum, sum_of(e.value, written, memory, c.fields().copy_engine));
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, brought(c, sum));
  e.value = {std::move(there), &memory};
  return ok_status();
}

Result<Tensor> ArrayState::read(const KernelContext& c, std::int64_t index) {
  MutexLock lock(mutex_);
  if (closed_) return closed();
  const auto size = static_cast<std::int64_t>(elements_.size());
  if (index < 0 || index >= size) {
    return invalid_argument("Tried to read from index ", index, " but array size is: ", size);
  }
  Place& e = elements_[static_cast<std::size_t>(index)];
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
    ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, zero_element(c, options_.dtype, shape));
    e.value = {std::move(zeros), &element_memory(c, options_.dtype)};
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, brought(c, e.value));
  if (options_.clear_after_read) {
    e.value = {};
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
  std::vector<Place> doomed;  // released after the lock
  MutexLock lock(mutex_);
  closed_ = true;
  doomed.swap(elements_);
}

// The arrays of gradients, too: nobody else may hold them.
void ArrayState::release_contents() {
  if (!may_be_handle(dtype_)) return;
  decltype(gradients_) gone;
  {
    MutexLock lock(mutex_);
    gone.swap(gradients_);
  }
  for (const auto& [source, array] : gone) array->release_contents();
  close();
}

}  // namespace argosy
