#include "argosy/ops/queue/queue_contents.h"

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

}  // namespace

QueueContents::QueueContents(const std::string& name, const QueueOptions& options)
    : name_(name),
      options_(options),
      items_(items_of(options)),
      held_(held_tuples(options.dtypes.size(), "the elements of a queue")) {}

std::unique_ptr<QueueItems> QueueContents::release() {
  std::unique_ptr<QueueItems> items = items_of(options_);
  items_.swap(items);
  return items;
}

QueueContents::Progress QueueContents::advance(QueueAttempt& attempt, bool enqueues_wait) {
  try {
    return advance_any(attempt, enqueues_wait);
  } catch (...) {
    attempt.status = status_of_exception();
    give_back(attempt);
    return Progress::kComplete;
  }
}

QueueContents::Progress QueueContents::advance_any(QueueAttempt& attempt, bool enqueues_wait) {
  switch (attempt.action) {
    case QueueAttempt::Action::kEnqueue:
    case QueueAttempt::Action::kEnqueueMany: return advance_enqueue(attempt);
    case QueueAttempt::Action::kClose:
      if (closed_) attempt.status = cancelled("Queue '", name_, "' is already closed.");
      closed_ = true;
      return Progress::kComplete;
    default: return advance_dequeue(attempt, enqueues_wait);
  }
}

QueueContents::Progress QueueContents::advance_enqueue(QueueAttempt& attempt) {
  if (closed_) {
    attempt.status = cancelled(options_.kind_name(), " '", name_, "' is closed.");
    return Progress::kComplete;
  }
  Progress progress = Progress::kNone;
  while (items_->size() < options_.capacity) {
    progress = Progress::kSome;
    if (Status fits = held_.hold(items_->size() + 1); !fits.ok()) {
      attempt.status = std::move(fits);
      return Progress::kComplete;
    }
    auto element = next_element(attempt);
    if (!element.ok()) {
      attempt.status = std::move(element).status();
      return Progress::kComplete;
    }
    items_->push(*std::move(element));
    if (--attempt.left == 0) return Progress::kComplete;
    if (attempt.cancelled()) break;
  }
  return progress;
}

Result<QueueItems::Tuple> QueueContents::next_element(QueueAttempt& attempt) const {
  if (attempt.action == QueueAttempt::Action::kEnqueue) return std::move(attempt.rows);
  Tuple element;
  for (const Tensor& rows : attempt.rows) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor row, row_of(rows, rows.shape()[0] - attempt.left, *attempt.memory));
    element.push_back(std::move(row));
  }
  return element;
}

// A batch takes elements as they come, so that it may be larger than the queue.
QueueContents::Progress QueueContents::advance_dequeue(QueueAttempt& attempt, bool enqueues_wait) {
  if (closed_ && items_->size() < attempt.left) {
    const std::int64_t before = items_->size();
    give_back(attempt);
    if (attempt.action == QueueAttempt::Action::kDequeueUpTo && items_->size() > 0) {
      attempt.left = items_->size();
    } else if (attempt.action == QueueAttempt::Action::kDequeueUpTo && enqueues_wait) {
      return Progress::kSome;  // they end first
    } else {
      attempt.status =
          out_of_range(options_.kind_name(), " '", name_, "' is closed and has insufficient elements (requested ",
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
    if (attempt.cancelled()) break;
  }
  return progress;
}

void QueueContents::give_back(QueueAttempt& attempt) {
  for (; !attempt.taken.empty(); attempt.taken.pop_back()) {
    if (attempt.taken.back().empty()) continue;  // its room alone was there
    once_there_is_memory([&] { items_->give_back(Tuple(attempt.taken.back())); });
  }
}

Result<QueueItems::Tuple> stacked_elements(const std::vector<QueueItems::Tuple>& elements, const QueueOptions& options,
                                           Allocator& memory) {
  QueueItems::Tuple out;
  for (std::size_t i = 0; i < options.dtypes.size(); ++i) {
    std::vector<const Tensor*> parts;
    for (const QueueItems::Tuple& element : elements) parts.push_back(&element[i]);
    ARGOSY_ASSIGN_OR_RETURN(Tensor rows, stacked(parts, options.dtypes[i], options.shapes[i], memory));
    out.push_back(std::move(rows));
  }
  return out;
}

}  // namespace argosy
