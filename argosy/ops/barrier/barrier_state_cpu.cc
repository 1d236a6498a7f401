#include "argosy/ops/barrier/barrier_state.h"

namespace argosy {

namespace {

QueueOptions ready_options(const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes) {
  QueueOptions options{.kind = QueueKind::kPriority,
                       .dtypes = {DType::kInt64, DType::kString},
                       .shapes = {PartialShape::scalar(), PartialShape::scalar()},
                       .capacity = std::numeric_limits<std::int32_t>::max()};
  options.dtypes.insert(options.dtypes.end(), dtypes.begin(), dtypes.end());
  options.shapes.insert(options.shapes.end(), shapes.begin(), shapes.end());
  return options;
}

}  // namespace

BarrierState::BarrierState(std::string name, std::vector<DType> dtypes, std::vector<PartialShape> shapes)
    : name_(std::move(name)),
      dtypes_(std::move(dtypes)),
      shapes_(std::move(shapes)),
      ready_(std::make_shared<QueueState>(name_, ready_options(dtypes_, shapes_))) {}

void BarrierState::release_contents() {
  ready_->release_contents();
  decltype(incomplete_) gone;  // without the lock
  MutexLock lock(mutex_);
  gone.swap(incomplete_);
}

Status BarrierState::check_same(const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes) const {
  if (dtypes == dtypes_ && shapes == shapes_) return ok_status();
  return invalid_argument("Shared barrier '", name_, "' has other component types or shapes than those asked for");
}

Status BarrierState::insert_one(std::int64_t component, const std::string& key, Tensor row, std::int64_t index,
                                std::vector<QueueState::Tuple>& whole) {
  auto found = incomplete_.find(key);
  if (found == incomplete_.end()) {
    if (closed_) {
      return cancelled("Barrier ", name_, " is closed, but attempted to insert a brand new key: ", key,
                       ".  Number of incomplete keys: ", incomplete_.size(), ".");
    }
    found = incomplete_.emplace(key, Element{index, std::vector<Tensor>(dtypes_.size())}).first;
  }
  Element& element = found->second;
  Tensor& place = element.components[static_cast<std::size_t>(component)];
  if (place.valid()) {
    return invalid_argument("Key ", key, " already has a value for component ", component, " in barrier ", name_);
  }
  place = std::move(row);
  if (++element.have < dtypes_.size()) return ok_status();
  QueueState::Tuple tuple = {Tensor::scalar(element.index), Tensor::scalar(key)};
  for (Tensor& t : element.components) tuple.push_back(std::move(t));
  whole.push_back(std::move(tuple));
  incomplete_.erase(found);
  return ok_status();
}

Status BarrierState::insert(std::int64_t component, const std::vector<std::string>& keys, const Tensor& rows,
                            const QueueState::Caller& caller) {
  const PartialShape& wanted = shapes_[static_cast<std::size_t>(component)];
  const auto count = static_cast<std::int64_t>(keys.size());
  if (rows.shape().rank() < 1 || rows.shape()[0] != count || !wanted.compatible(rows.shape().removed(0))) {
    return invalid_argument("Barrier ", name_, ": ", count, " values of shape ", wanted, " are wanted for component ",
                            component, ", not a tensor of shape ", rows.shape());
  }
  std::vector<QueueState::Tuple> whole;
  Status status;
  bool finished = false;
  {
    MutexLock lock(mutex_);
    if (cancelled_ || (closed_ && incomplete_.empty())) {
      return cancelled("Barrier ", name_, " is closed.  Pending enqueues cancelled: ", cancelled_ ? 1 : 0,
                       ".  Number of new insertions: ", count, ".  Number of incomplete keys: ", incomplete_.size(),
                       ".");
    }
    const std::int64_t index = next_index_;
    const auto before = incomplete_.size();
    for (std::int64_t i = 0; i < count && status.ok(); ++i) {
      status = insert_one(component, keys[static_cast<std::size_t>(i)],
                          rows.rows(i, i + 1).reshaped(rows.shape().removed(0)), index, whole);
    }
    if (incomplete_.size() + whole.size() > before) ++next_index_;
    on_the_way_ += static_cast<std::int64_t>(whole.size());
    finished = closed_ && incomplete_.empty();
  }
  for (QueueState::Tuple& tuple : whole) {
    const auto entered = std::make_shared<Status>();  // there is always room
    ready_->enqueue(std::move(tuple), caller, [entered](Status s, QueueState::Tuple) { *entered = std::move(s); });
    MutexLock lock(mutex_);
    --on_the_way_;
    if (status.ok()) status = *entered;
  }
  if (finished) {
    Status closed = close_ready(caller);
    if (status.ok()) status = std::move(closed);
  }
  return status;
}

Status BarrierState::close_ready(const QueueState::Caller& caller) {
  const auto closed = std::make_shared<Status>();  // said at once: nothing waits to enter
  ready_->close(false, caller, [closed](Status s, QueueState::Tuple) { *closed = std::move(s); });
  return *closed;
}

void BarrierState::take(std::int64_t count, bool allow_small_batch, const QueueState::Caller& caller, Done done) {
  const std::int64_t ready = ready_->size();
  std::int64_t total = ready;
  bool closed = false;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    total += on_the_way_ + (allow_small_batch ? 0 : static_cast<std::int64_t>(incomplete_.size()));
  }
  if (closed && allow_small_batch) count = std::min(count, total);
  if (closed && total < std::max<std::int64_t>(count, 1)) {
    return done(out_of_range("Barrier '", name_, "' is closed and has insufficient elements (requested ", count,
                             ", total size ", total, ")"),
                {});
  }
  ready_->dequeue_many(count, allow_small_batch, caller, std::move(done));
}

Status BarrierState::close(bool cancel_pending, const QueueState::Caller& caller) {
  std::map<std::string, Element> doomed;  // released after the lock
  bool finished = false;
  {
    MutexLock lock(mutex_);
    if (closed_ && !cancel_pending) return cancelled("Barrier '", name_, "' is already closed.");
    closed_ = true;
    if (cancel_pending) {
      cancelled_ = true;
      doomed.swap(incomplete_);
    }
    finished = incomplete_.empty();
  }
  return finished && !ready_->closed() ? close_ready(caller) : ok_status();
}

std::int64_t BarrierState::ready_size() const { return ready_->size(); }

std::int64_t BarrierState::incomplete_size() const {
  MutexLock lock(mutex_);
  return static_cast<std::int64_t>(incomplete_.size());
}

}  // namespace argosy
