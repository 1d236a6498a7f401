// QueueContents: the elements of a queue, whether it is closed, and what one operation can do with them at once. Nothing
// here waits and nothing is locked: that is QueueState's. Internal to the queue family.
//
//   attempt            rows to enqueue, or elements taken so far
//      | advance()     kNone: it can do nothing now    kSome: it did a part    kComplete: it is over, well or not
//      v
//   items              in the order in which they come out
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/ops/queue/queue_options.h"
#include "argosy/tensor/held_tuples.h"

namespace argosy {

// An operation on a queue, as far as it has come.
struct QueueAttempt {
  enum class Action { kEnqueue, kEnqueueMany, kClose, kDequeue, kDequeueMany, kDequeueUpTo };
  Action action;
  Allocator* memory = nullptr;                // for batches and rows of them
  Cancellation* cancellation = nullptr;       // once it is pulled, the attempt goes no further; may be null
  QueueItems::Tuple rows = {};                // to enqueue
  std::int64_t left = 1;                      // elements to go
  std::vector<QueueItems::Tuple> taken = {};  // dequeued so far
  Status status = {};                         // of the end
  bool enters() const { return action <= Action::kClose; }
  bool cancelled() const { return cancellation != nullptr && cancellation->cancelled(); }
};

class QueueContents {
 public:
  using Tuple = QueueItems::Tuple;
  enum class Progress { kNone, kSome, kComplete };

  // `options` and `name`, for messages, outlive it.
  QueueContents(const std::string& name, const QueueOptions& options);

  std::int64_t size() const { return items_->size(); }
  bool closed() const { return closed_; }
  void close() { closed_ = true; }
  std::unique_ptr<QueueItems> copy() const { return items_->copy(); }
  // The elements, which the queue then no longer has.
  std::unique_ptr<QueueItems> release();
  // As they were when `items` was made by copy().
  void restore(std::unique_ptr<QueueItems>& items, bool closed) {
    items_.swap(items);
    closed_ = closed;
  }

  // Lets the attempt do what it can until it is cancelled. `enqueues_wait`: others wait to enqueue. What is thrown ends
  // the attempt.
  Progress advance(QueueAttempt& attempt, bool enqueues_wait);
  // Elements that it took go back, as if it had never been.
  void give_back(QueueAttempt& attempt);

 private:
  Progress advance_any(QueueAttempt& attempt, bool enqueues_wait);
  Progress advance_enqueue(QueueAttempt& attempt);
  Progress advance_dequeue(QueueAttempt& attempt, bool enqueues_wait);
  // The next element of an enqueue.
  Result<Tuple> next_element(QueueAttempt& attempt) const;

  const std::string& name_;
  const QueueOptions& options_;
  std::unique_ptr<QueueItems> items_;
  HeldItems held_;  // counts them
  bool closed_ = false;
};

// Tensors of one dtype as rows of one tensor: of `shape`, or, where that is not fully known, of the largest sizes among
// them, the rest being zeros (empty strings).
Result<Tensor> stacked(const std::vector<const Tensor*>& parts, DType dtype, const PartialShape& shape,
                       Allocator& memory);
// Elements as rows, component by component.
Result<QueueItems::Tuple> stacked_elements(const std::vector<QueueItems::Tuple>& elements, const QueueOptions& options,
                                           Allocator& memory);

}  // namespace argosy
