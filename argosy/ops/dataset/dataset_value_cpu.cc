#include "argosy/ops/dataset/dataset_value.h"

#include "argosy/base/guard.h"

namespace argosy::datasets {

Result<DatasetPtr> dataset_in(const Tensor& handle) {
  if (handle.dtype() == DType::kVariant && handle.elements() == 1) {
    auto dataset = std::dynamic_pointer_cast<const DatasetValue>(handle.data<Variant>()->value());
    if (dataset != nullptr) return dataset;
  }
  return invalid_argument("Tensor must be a Dataset object.").with_id("ARG-DATASET-001");
}

Tensor dataset_handle(DatasetPtr dataset) { return Tensor::scalar(Variant(std::move(dataset))); }

Result<std::shared_ptr<FunctionCall>> FunctionInstances::of(const std::shared_ptr<FunctionCall>& call) {
  MutexLock lock(mutex_);
  std::shared_ptr<FunctionCall>& made = made_[call];
  if (made == nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(made, call->anew());
  }
  return made;
}

void FunctionInstances::clear() {
  MutexLock lock(mutex_);
  made_.clear();
}

Result<Element> Captured::operator()(Element arguments, const IteratorContext& context) const {
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  std::shared_ptr<FunctionCall> own;
  if (context.functions != nullptr && call_->keeps_state()) {
    ARGOSY_ASSIGN_OR_RETURN(own, context.functions->of(call_));
  }
  ARGOSY_ASSIGN_OR_RETURN(Element out, (own != nullptr ? *own : *call_).run(arguments, context.cancellation));
  for (Tensor& t : out) t = t.owned();
  return out;
}

Status same_types(const std::vector<DType>& expected, const std::vector<DType>& types) {
  if (expected.size() != types.size()) {
    return invalid_argument("Number of components does not match: expected ", expected.size(), " types but got ",
                            types.size(), ".");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (expected[i] == types[i]) continue;
    return invalid_argument("Data type mismatch at component ", i, ": expected ", dtype_name(expected[i]), " but got ",
                            dtype_name(types[i]), ".");
  }
  return ok_status();
}

Result<DatasetPtr> dataset_of(const Element& returned) {
  if (returned.size() != 1 || returned[0].dtype() != DType::kVariant || returned[0].shape().rank() != 0) {
    return invalid_argument("Function must return a single scalar of dtype DT_VARIANT.");
  }
  return dataset_in(returned[0]);
}

Result<bool> bool_of(const Element& returned) {
  if (returned.size() != 1 || returned[0].dtype() != DType::kBool || returned[0].elements() != 1) {
    return invalid_argument("Filter predicate `f` must return a scalar bool.");
  }
  return *returned[0].data<bool>();
}

Result<std::int64_t> int_of(const Element& returned, const char* what) {
  if (returned.size() != 1 || returned[0].dtype() != DType::kInt64 || returned[0].shape().rank() != 0) {
    return invalid_argument(what, " must return a scalar int64.");
  }
  return *returned[0].data<std::int64_t>();
}

ThreadedIterator::ThreadedIterator(const IteratorContext& parent) : parent_(parent), inner_(parent) {
  inner_.cancellation = &cancellation_;
  linked_ = parent.cancellation->add([this] { end(); }, &token_);
  if (!linked_) end();
}

ThreadedIterator::~ThreadedIterator() { stop(); }

void ThreadedIterator::end() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    room_.notify_all();
  }
  cancellation_.cancel(guarded([] { return cancelled("the iterator has ended"); }));  // perhaps in a destructor
}

Status ThreadedIterator::start(std::function<void()> task) {
  ++running_;
  Status started = guarded([&] {
    return parent_.threads->schedule([this, task = std::move(task)] {
      Status thrown = guarded([&] { return task(), ok_status(); });
      if (!thrown.ok()) {
        {
          MutexLock lock(mutex_);
          broken_ = std::move(thrown);
          stopping_ = true;
          changed_.notify_all();
          room_.notify_all();
        }
        contained("telling of an iterator's end", [&] { broke(); });
      }
      MutexLock lock(mutex_);
      --running_;
      changed_.notify_all();
    });
  });
  if (!started.ok()) --running_;
  return started;
}

void ThreadedIterator::stop() {
  if (linked_) parent_.cancellation->remove(token_);
  linked_ = false;
  end();
  MutexLock lock(mutex_);
  while (running_ > 0) changed_.wait(mutex_);
}

}  // namespace argosy::datasets
