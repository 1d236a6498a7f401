// QueueContents: the elements of a queue, whether it is closed, and the progress that an operation can make with them
// now. Nothing here waits or locks: QueueOperations does that. Internal to the queue family.
//
//   attempt            rows to enqueue, or elements taken so far
//      | advance()     kNone: no progress now    kSome: a part is done    kComplete: it ended, OK or with an error
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

// An operation on a queue, and its progress so far.
struct QueueAttempt {
  enum class Action { kEnqueue, kEnqueueMany, kClose, kDequeue, kDequeueMany, kDequeueUpTo };
  Action action;
  Allocator* memory = nullptr;                // for the batches that are made, and the rows cut from batches
  Cancellation* cancellation = nullptr;       // once it is cancelled, the attempt stops; may be null
  QueueItems::Tuple rows = {};                // what to enqueue: a tensor per component
  std::int64_t left = 1;                      // how many elements are still to be enqueued or dequeued
  std::vector<QueueItems::Tuple> taken = {};  // the elements dequeued so far
  Status status = {};                         // the result, once it ended
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
  // Moves the elements out of the queue, which is empty then.
  std::unique_ptr<QueueItems> release();
  // Restores the elements that copy() returned, and swaps the present ones into `items`.
  void restore(std::unique_ptr<QueueItems>& items, bool closed) {
    items_.swap(items);
    closed_ = closed;
  }

  // Makes as much progress as is possible now, until the attempt is cancelled. `enqueues_wait`: enqueues are waiting.
  // An exception ends the attempt with an error.
  Progress advance(QueueAttempt& attempt, bool enqueues_wait);
  // Puts the elements that the attempt has taken back into the queue, as if it had not happened.
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
  HeldItems held_;  // accounts for the elements in the budget of host memory
  bool closed_ = false;
};

// Stacks tensors of one dtype as rows of one tensor. Each row has the shape `shape`; where that is not fully known, the
// largest sizes of the tensors. The rest is zeros, or empty strings.
Result<Tensor> stacked(const std::vector<const Tensor*>& parts, DType dtype, const PartialShape& shape,
                       Allocator& memory);
// Stacks elements, component by component.
Result<QueueItems::Tuple> stacked_elements(const std::vector<QueueItems::Tuple>& elements, const QueueOptions& options,
                                           Allocator& memory);

}  // namespace argosy
