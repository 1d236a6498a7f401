#include "argosy/ops/queue/queue_state.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy {

namespace {

std::unique_ptr<QueueItems> items_of(const QueueOptions& options) {
  switch (options.kind) {
    case QueueKind::kShuffle: return shuffled_items(options.seed, options.seed2);
    case QueueKind::kPriority: return priority_items();
    default: return fifo_items();
  }
}

// One row of a batch, in memory of its own: a few elements that stay must not hold all of a batch.
Result<Tensor> row_of(const Tensor& rows, std::int64_t i, Allocator& memory) {
  const Tensor row = rows.rows(i, i + 1).reshaped(rows.shape().removed(0));
  if (rows.shape()[0] == 1) return row;
  ARGOSY_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(row.dtype(), row.shape(), memory));
  copy_elements(copy, row);
  return copy;
}

std::string shapes_to_string(const std::vector<PartialShape>& shapes) {
  std::string text;
  for (const PartialShape& s : shapes) text += str_cat(text.empty() ? "" : ",", s);
  return "[" + text + "]";
}

std::string dtypes_to_string(const std::vector<DType>& dtypes) {
  std::string text;
  for (const DType d : dtypes) text += str_cat(text.empty() ? "" : ", ", dtype_name(d));
  return text;
}

}  // namespace

QueueState::QueueState(std::string name, QueueOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      items_(items_of(options_)),
      held_(held_tuples(options_.dtypes.size(), "the elements of a queue")) {}

std::string_view QueueState::kind_name() const {
  switch (options_.kind) {
    case QueueKind::kShuffle: return "RandomShuffleQueue";
    case QueueKind::kPadding: return "PaddingFIFOQueue";
    case QueueKind::kPriority: return "PriorityQueue";
    default: return "FIFOQueue";
  }
}

std::string QueueState::describe() const { return str_cat(kind_name(), " of ", options_.dtypes.size(), " components"); }

Status QueueState::check_same(const QueueOptions& asked) const {
  const auto differs = [&](std::string_view what, const auto& have, const auto& want) {
    return invalid_argument("Shared queue '", name_, "' has ", what, " ", have, " but requested ", what, " was ", want);
  };
  if (asked.kind != options_.kind) {
    return invalid_argument("Shared queue '", name_, "' is a ", kind_name(),
                            ", and a queue of another kind was requested");
  }
  if (asked.capacity != options_.capacity) return differs("capacity", options_.capacity, asked.capacity);
  if (asked.dtypes != options_.dtypes) {
    return differs("component types", dtypes_to_string(options_.dtypes), dtypes_to_string(asked.dtypes));
  }
  if (asked.shapes != options_.shapes) {
    return differs("component shapes", shapes_to_string(options_.shapes), shapes_to_string(asked.shapes));
  }
  if (asked.min_after_dequeue != options_.min_after_dequeue) {
    return differs("min_after_dequeue", options_.min_after_dequeue, asked.min_after_dequeue);
  }
  const bool by_chance = asked.seed == 0 && asked.seed2 == 0;
  if (!by_chance && (asked.seed != options_.seed || asked.seed2 != options_.seed2)) {
    return differs("random seeds", str_cat("(", options_.seed, ", ", options_.seed2, ")"),
                   str_cat("(", asked.seed, ", ", asked.seed2, ")"));
  }
  return ok_status();
}

// --- what may enter --------------------------------------------------------------------------------------------------

Status QueueState::check_element(const Tuple& tuple) const {
  for (std::size_t i = 0; i < options_.shapes.size(); ++i) {
    if (!options_.shapes[i].compatible(tuple[i].shape())) {
      return invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", options_.shapes[i], ", got ",
                              tuple[i].shape());
    }
  }
  return ok_status();
}

Status QueueState::check_rows(const Tuple& tuple) const {
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].shape().rank() < 1) {
      return invalid_argument("tuple component ", i, " is a scalar, which has no rows to enqueue");
    }
  }
  const std::int64_t count = tuple[0].shape()[0];
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    const Shape& shape = tuple[i].shape();
    if (!options_.shapes.empty()) {
      std::vector<std::int64_t> sizes = options_.shapes[i].sizes();
      sizes.insert(sizes.begin(), count);
      const PartialShape expected(std::move(sizes));
      if (!expected.compatible(shape)) {
        return invalid_argument("Shape mismatch in tuple component ", i, ". Expected ", expected, ", got ", shape);
      }
    } else if (shape[0] != count) {
      return invalid_argument("All input tensors must have the same size in the 0th dimension. Component ", i, " has ",
                              shape[0], ", and should have ", count);
    }
  }
  return ok_status();
}

// --- operations ------------------------------------------------------------------------------------------------------

void QueueState::enqueue(Tuple element, const Caller& caller, Done done) {
  if (Status fits = check_element(element); !fits.ok()) return done(std::move(fits), {});
  start(std::make_shared<Attempt>(
      Attempt{.action = Action::kEnqueue, .caller = caller, .done = std::move(done), .rows = std::move(element)}));
}

void QueueState::enqueue_many(Tuple rows, const Caller& caller, Done done) {
  if (Status fits = check_rows(rows); !fits.ok()) return done(std::move(fits), {});
  const std::int64_t count = rows[0].shape()[0];
  if (count == 0) return done(ok_status(), {});
  start(std::make_shared<Attempt>(Attempt{.action = Action::kEnqueueMany,
                                          .caller = caller,
                                          .done = std::move(done),
                                          .rows = std::move(rows),
                                          .left = count}));
}

void QueueState::dequeue(const Caller& caller, Done done) {
  start(std::make_shared<Attempt>(Attempt{.action = Action::kDequeue, .caller = caller, .done = std::move(done)}));
}

void QueueState::dequeue_many(std::int64_t count, bool up_to, const Caller& caller, Done done) {
  if (options_.shapes.empty()) {
    return done(invalid_argument(kind_name(),
                                 "'s DequeueMany and DequeueUpTo require the components to have specified shapes."),
                {});
  }
  if (count == 0) {
    auto none = joined({}, *caller.memory);
    return none.ok() ? done(ok_status(), *std::move(none)) : done(std::move(none).status(), {});
  }
  start(std::make_shared<Attempt>(Attempt{.action = up_to ? Action::kDequeueUpTo : Action::kDequeueMany,
                                          .caller = caller,
                                          .done = std::move(done),
                                          .left = count}));
}

void QueueState::close(bool cancel_pending, const Caller& caller, Done done) {
  if (!cancel_pending) {
    return start(
        std::make_shared<Attempt>(Attempt{.action = Action::kClose, .caller = caller, .done = std::move(done)}));
  }
  const auto self = shared_from_this();
  Attempts pending;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    pending.swap(enqueues_);
  }
  for (const auto& attempt : pending) {
    attempt->status = guarded([] { return cancelled("Enqueue operation was cancelled"); });
    finish(*attempt);
  }
  flush();
  done(ok_status(), {});
}

std::int64_t QueueState::size() const {
  MutexLock lock(mutex_);
  return items_->size();
}

bool QueueState::closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

Result<std::function<Status()>> QueueState::set_aside() const {
  const auto waited_for = [](const QueueState& q) ARGOSY_REQUIRES(q.mutex_) {
    return q.enqueues_.empty() && q.dequeues_.empty()
               ? ok_status()
               : Status(failed_precondition("steps wait at the queue '", q.name_, "'"));
  };
  MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(waited_for(*this));
  const std::shared_ptr<const QueueItems> items = items_->copy();
  const auto self = std::const_pointer_cast<QueueState>(shared_from_this());
  return std::function<Status()>([self, items, waited_for, closed = closed_]() -> Status {
    std::unique_ptr<QueueItems> now = items->copy();
    MutexLock again(self->mutex_);
    ARGOSY_RETURN_IF_ERROR(waited_for(*self));
    self->items_.swap(now);
    self->closed_ = closed;
    return ok_status();
  });
}

Result<std::vector<Tensor>> QueueState::contents() const {
  std::unique_ptr<QueueItems> items;
  std::vector<Tensor> all;
  {
    MutexLock lock(mutex_);
    items = items_->copy();
    all.push_back(Tensor::scalar(closed_));
  }
  while (items->size() > 0) {
    for (Tensor& component : items->pop()) all.push_back(std::move(component));
  }
  std::rotate(all.begin(), all.begin() + 1, all.end());
  return all;
}

// --- getting on ------------------------------------------------------------------------------------------------------

QueueState::Progress QueueState::advance(Attempt& attempt) {
  switch (attempt.action) {
    case Action::kEnqueue:
    case Action::kEnqueueMany: return advance_enqueue(attempt);
    case Action::kClose:
      if (closed_) attempt.status = cancelled("Queue '", name_, "' is already closed.");
      closed_ = true;
      return Progress::kComplete;
    default: return advance_dequeue(attempt);
  }
}

QueueState::Progress QueueState::advance_enqueue(Attempt& attempt) {
  if (closed_) {
    attempt.status = cancelled(kind_name(), " '", name_, "' is closed.");
    return Progress::kComplete;
  }
  Progress progress = Progress::kNone;
  while (items_->size() < options_.capacity) {
    progress = Progress::kSome;
    if (Status fits = held_.hold(items_->size() + 1); !fits.ok()) {
      attempt.status = std::move(fits);
      return Progress::kComplete;
    }
    Tuple element;
    if (attempt.action == Action::kEnqueue) {
      element = std::move(attempt.rows);
    } else {
      for (const Tensor& rows : attempt.rows) {
        auto row = row_of(rows, rows.shape()[0] - attempt.left, *attempt.caller.memory);
        if (!row.ok()) {
          attempt.status = std::move(row).status();
          return Progress::kComplete;
        }
        element.push_back(*std::move(row));
      }
    }
    items_->push(std::move(element));
    if (--attempt.left == 0) return Progress::kComplete;
  }
  return progress;
}

// A batch takes elements as they come, so that it may be larger than the queue.
QueueState::Progress QueueState::advance_dequeue(Attempt& attempt) {
  if (closed_ && items_->size() < attempt.left) {
    const std::int64_t before = items_->size();
    give_back(attempt);
    if (attempt.action == Action::kDequeueUpTo && items_->size() > 0) {
      attempt.left = items_->size();
    } else if (attempt.action == Action::kDequeueUpTo && !enqueues_.empty()) {
      return Progress::kSome;  // they end first
    } else {
      attempt.status = out_of_range(kind_name(), " '", name_, "' is closed and has insufficient elements (requested ",
                                    attempt.left, ", current size ", before, ")");
      return Progress::kComplete;
    }
  }
  std::int64_t available = items_->size();
  if (!closed_) available -= options_.min_after_dequeue;
  Progress progress = Progress::kNone;
  for (; available > 0; --available) {
    progress = Progress::kSome;
    attempt.taken.emplace_back();  // its room first: an element that was taken out must not be lost
    attempt.taken.back() = items_->pop();
    if (--attempt.left == 0) return Progress::kComplete;
  }
  return progress;
}

void QueueState::give_back(Attempt& attempt) {
  for (; !attempt.taken.empty(); attempt.taken.pop_back()) {
    if (attempt.taken.back().empty()) continue;  // its room alone was there
    once_there_is_memory([&] { items_->give_back(Tuple(attempt.taken.back())); });
  }
}

// What is thrown ends the attempt.
QueueState::Progress QueueState::advance_or_fail(Attempt& attempt) {
  try {
    return advance(attempt);
  } catch (...) {
    attempt.status = status_of_exception();
    give_back(attempt);
    return Progress::kComplete;
  }
}

// First come, first served. Who is being cancelled is passed over: cancel() comes for them.
bool QueueState::advance(Attempts& attempts, Attempts& finished) {
  bool any = false;
  for (auto at = attempts.begin(); at != attempts.end();) {
    Attempt& attempt = **at;
    const Cancellation* cancellation = attempt.caller.cancellation;
    if (cancellation != nullptr && cancellation->cancelled()) {
      ++at;
      continue;
    }
    const Progress progress = advance_or_fail(attempt);
    any = any || progress != Progress::kNone;
    if (progress != Progress::kComplete) break;
    finished.splice(finished.end(), attempts, at++);
  }
  return any;
}

void QueueState::flush() {
  Attempts finished;
  {
    MutexLock lock(mutex_);
    for (bool again = true; again;) {
      again = advance(enqueues_, finished);
      again = advance(dequeues_, finished) || again;
    }
  }
  for (const auto& attempt : finished) finish(*attempt);
}

// A deadline is told as one.
Status QueueState::why_cancelled(const Attempt& attempt) {
  return guarded([&] {
    Status reason = attempt.caller.cancellation->status();
    if (reason.code() != Code::kCancelled) return reason;
    return cancelled(attempt.enters() ? "Enqueue" : "Dequeue", " operation was cancelled");
  });
}

void QueueState::start(std::shared_ptr<Attempt> attempt) {
  const auto self = shared_from_this();  // `done` may let go of the last handle
  Cancellation* const cancellation = attempt->caller.cancellation;
  bool accepted = true;
  {
    MutexLock lock(mutex_);
    const auto on_cancel = [self, attempt] { self->cancel(attempt); };
    accepted = cancellation == nullptr || cancellation->add(on_cancel, &attempt->token);
    if (accepted) (attempt->enters() ? enqueues_ : dequeues_).push_back(attempt);
  }
  if (!accepted) return attempt->done(why_cancelled(*attempt), {});
  flush();
  if (cancellation == nullptr && withdraw(attempt)) {
    attempt->done(failed_precondition(kind_name(), " '", name_, "': outside a step nothing can be waited for"), {});
  }
}

bool QueueState::withdraw(const std::shared_ptr<Attempt>& attempt) {
  MutexLock lock(mutex_);
  Attempts& attempts = attempt->enters() ? enqueues_ : dequeues_;
  const auto found = std::find(attempts.begin(), attempts.end(), attempt);
  if (found == attempts.end()) return false;
  attempts.erase(found);
  give_back(*attempt);
  return true;
}

void QueueState::cancel(const std::shared_ptr<Attempt>& attempt) {
  if (!withdraw(attempt)) return;
  Done done = std::move(attempt->done);
  call_and_release(done, "the end of a queue's operation", why_cancelled(*attempt), Tuple());
  flush();
}

// A completed attempt's cancellation was not pulled when it completed, so no thread waits here for a callback that
// waits for it: whoever runs callbacks completes attempts of younger cancellations only.
void QueueState::finish(Attempt& attempt) {
  Tuple out;
  if (attempt.status.ok() && !attempt.enters()) {
    if (attempt.action == Action::kDequeue) {
      out = std::move(attempt.taken[0]);
    } else if (auto rows = guarded([&] { return joined(attempt.taken, *attempt.caller.memory); }); rows.ok()) {
      out = *std::move(rows);
    } else {
      attempt.status = std::move(rows).status();
      MutexLock lock(mutex_);
      give_back(attempt);
    }
  }
  if (attempt.caller.cancellation != nullptr) attempt.caller.cancellation->remove(attempt.token);
  Done done = std::move(attempt.done);
  call_and_release(done, "the end of a queue's operation", std::move(attempt.status), std::move(out));
}

Result<QueueState::Tuple> QueueState::joined(const std::vector<Tuple>& elements, Allocator& memory) const {
  Tuple out;
  for (std::size_t i = 0; i < options_.dtypes.size(); ++i) {
    std::vector<const Tensor*> parts;
    for (const Tuple& element : elements) parts.push_back(&element[i]);
    ARGOSY_ASSIGN_OR_RETURN(Tensor rows, stacked(parts, options_.dtypes[i], options_.shapes[i], memory));
    out.push_back(std::move(rows));
  }
  return out;
}

}  // namespace argosy
