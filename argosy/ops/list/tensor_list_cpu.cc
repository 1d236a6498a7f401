#include "argosy/ops/list/tensor_list.h"

#include <algorithm>

#include "argosy/tensor/nesting.h"

namespace argosy {

namespace {

// The list holds this element, too.
void note_nesting(TensorList& list, const Element& element) {
  list.set_nesting(std::max(list.nesting(), nesting_around(element.value)));
}

}  // namespace

std::string TensorList::describe() const {
  return str_cat("list of ", size_, " ", dtype_name(dtype_), element_shape_.to_string());
}

Element TensorList::at(std::int64_t i) const {
  MutexLock lock(store_->mutex);
  return store_->items[static_cast<std::size_t>(i)];
}

std::shared_ptr<TensorList> TensorList::copy() const {
  auto list = std::make_shared<TensorList>(dtype_, element_shape_, max_);
  MutexLock lock(store_->mutex);
  MutexLock own(list->store_->mutex);
  list->store_->items.assign(store_->items.begin(), store_->items.begin() + static_cast<std::ptrdiff_t>(size_));
  list->size_ = size_;
  list->set_nesting(nesting());
  return list;
}

bool TensorList::grows_in_place() const {
  MutexLock lock(store_->mutex);
  return static_cast<std::int64_t>(store_->items.size()) == size_;
}

std::shared_ptr<TensorList> TensorList::pushed(Element element) const {
  {
    MutexLock lock(store_->mutex);
    if (static_cast<std::int64_t>(store_->items.size()) == size_) {
      auto list = std::make_shared<TensorList>(*this);
      note_nesting(*list, element);
      store_->items.push_back(std::move(element));
      ++list->size_;
      return list;
    }
  }
  auto list = copy();  // an older list, from which another grew already
  return list->pushed(std::move(element));
}

std::shared_ptr<TensorList> TensorList::popped(bool mine) const {
  auto list = std::make_shared<TensorList>(*this);
  --list->size_;
  if (mine && store_.use_count() == 2) {  // this and the new one: what no list sees any more may go
    MutexLock lock(store_->mutex);
    store_->items.resize(static_cast<std::size_t>(list->size_));
  }
  return list;
}

std::shared_ptr<TensorList> TensorList::with(std::int64_t i, Element element, bool mine) const {
  const bool in_place = mine && store_.use_count() == 1;
  auto list = in_place ? std::make_shared<TensorList>(*this) : copy();
  note_nesting(*list, element);
  MutexLock lock(list->store_->mutex);
  list->store_->items[static_cast<std::size_t>(i)] = std::move(element);
  return list;
}

std::shared_ptr<TensorList> TensorList::resized(std::int64_t size) const {
  auto list = copy();
  MutexLock lock(list->store_->mutex);
  list->store_->items.resize(static_cast<std::size_t>(size));
  list->size_ = size;
  return list;
}

Status TensorList::check_element(const Tensor& element) const {
  if (element.dtype() != dtype_) {
    return invalid_argument("a list of ", dtype_name(dtype_), " cannot take a ", dtype_name(element.dtype()));
  }
  if (!element_shape_.compatible(element.shape())) {
    return invalid_argument("a list of elements of shape ", element_shape_, " cannot take one of shape ",
                            element.shape());
  }
  return check_nesting(nesting_around(element));
}

Status TensorList::check_room() const {
  const std::int64_t limit = max_ >= 0 ? std::min(max_, kMaxElements) : kMaxElements;
  return size_ < limit ? ok_status() : invalid_argument("the list is full: it may have ", limit, " elements");
}

Result<Variant> TensorList::zeros_like(Allocator& wanted) const {
  Allocator& memory = written_by_host(wanted);
  auto list = copy();
  for (std::int64_t i = 0; i < size_; ++i) {
    const Element from = at(i);
    if (!from.valid() || dtype_ == DType::kResource) continue;
    ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, zeros_of(from.value, wanted));
    MutexLock lock(list->store_->mutex);
    list->store_->items[static_cast<std::size_t>(i)] = {std::move(zeros), &memory};
  }
  return Variant(std::move(list));
}

Result<Variant> TensorList::plus(const VariantValue& other, Allocator& wanted) const {
  const auto* with = dynamic_cast<const TensorList*>(&other);
  if (with == nullptr || with->dtype_ != dtype_ || with->size_ != size_) {
    return invalid_argument("a ", describe(), " and a ", other.describe(), " cannot be added");
  }
  auto list = copy();
  list->set_nesting(std::max(nesting(), with->nesting()));
  for (std::int64_t i = 0; i < size_; ++i) {
    const Element own = at(i), others = with->at(i);
    if (!others.valid()) continue;
    Element result = others;  // an element that was never set counts as zeros
    if (own.valid()) {
      if (!(own.value.shape() == others.value.shape())) {
        return invalid_argument("lists of elements of unlike shapes cannot be added");
      }
      ARGOSY_ASSIGN_OR_RETURN(result, sum_of(own, others, wanted, CopyEngine::in_scope()));
    }
    MutexLock lock(list->store_->mutex);
    list->store_->items[static_cast<std::size_t>(i)] = std::move(result);
  }
  return Variant(std::move(list));
}

Result<std::shared_ptr<const TensorList>> list_input(const KernelContext& c, int i) {
  const Tensor& t = c.input(i);
  if (t.dtype() != DType::kVariant || t.shape().rank() != 0) {
    return invalid_argument("input ", i, " must be a list, not ", dtype_name(t.dtype()), t.shape());
  }
  auto list = std::dynamic_pointer_cast<const TensorList>(t.data<Variant>()->value());
  if (!list) return invalid_argument("input ", i, " is no list");
  return list;
}

Result<std::int64_t> scalar_input(const Tensor& t, std::string_view what) {
  if (t.shape().rank() != 0) return invalid_argument(what, " must be a scalar, not of shape ", t.shape());
  return to_int64(t, what);
}

Result<std::vector<std::int64_t>> vector_input(const Tensor& t, std::string_view what) {
  if (t.shape().rank() != 1) return invalid_argument(what, " must be a vector, not of shape ", t.shape());
  return to_int64s(t, what);
}

bool last_reader(const KernelContext& c, int i, const std::shared_ptr<const TensorList>& list) {
  // The input's tensor holds one count, the caller's pointer the other.
  const bool* donate = c.fields().may_donate;
  return donate != nullptr && donate[i] && c.input(i).unique() && list.use_count() == 2;
}

void set_list(KernelContext& c, std::shared_ptr<const TensorList> list) {
  c.set_output(0, Tensor::scalar(Variant(std::move(list))));
}

Result<Tensor> kept(const KernelContext& c, const Tensor& t) {
  ARGOSY_ASSIGN_OR_RETURN(Element element, kept_element(c, t));
  return std::move(element.value);
}

}  // namespace argosy
