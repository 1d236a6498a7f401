// What stands behind a queue's handle: elements, and the enqueues and dequeues that wait for room or for elements, in
// the order they came. Thread-safe; nobody waits on a thread. Internal to the queue and barrier families.
//
// Every operation ends by one call of its `done`, at once or later, on the thread that made it possible: after that
// nothing of the caller's is touched. A cancelled operation ends CANCELLED, and elements it had taken go back.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/op/state/restorable.h"
#include "argosy/ops/queue/queue_items.h"
#include "argosy/tensor/held_tuples.h"
#include "argosy/tensor/resource.h"

namespace argosy {

enum class QueueKind { kFifo, kShuffle, kPadding, kPriority };

struct QueueOptions {
  QueueKind kind = QueueKind::kFifo;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;  // of each component; empty: elements may have any
  std::int64_t capacity = 0;
  std::int64_t min_after_dequeue = 0;  // kShuffle: so many stay, to be mixed, until the queue is closed
  std::int64_t seed = 0, seed2 = 0;
};

class QueueState final : public Resource, public Restorable, public std::enable_shared_from_this<QueueState> {
 public:
  using Tuple = QueueItems::Tuple;
  using Done = std::function<void(Status, Tuple)>;
  // Whose operation it is. Without a cancellation nothing could end a wait: FAILED_PRECONDITION instead of one.
  struct Caller {
    Cancellation* cancellation = nullptr;
    Allocator* memory = nullptr;  // for batches
  };

  QueueState(std::string name, QueueOptions options);
  std::string describe() const override;
  const QueueOptions& options() const { return options_; }
  // "FIFOQueue"
  std::string_view kind_name() const;
  // INVALID_ARGUMENT saying how a queue asked for by this one's name differs from it.
  Status check_same(const QueueOptions& asked) const;

  // One element, of one tensor per component. Tensors must keep their memory.
  void enqueue(Tuple element, const Caller& caller, Done done);
  // One element per row of the tensors; some may be in the queue before others have room.
  void enqueue_many(Tuple rows, const Caller& caller, Done done);
  void dequeue(const Caller& caller, Done done);
  // `count` elements as rows; with `up_to`, what there is once the queue is closed.
  void dequeue_many(std::int64_t count, bool up_to, const Caller& caller, Done done);
  // No more enqueues after those that wait now, or, with `cancel_pending`, after those that are done.
  void close(bool cancel_pending, const Caller& caller, Done done);

  std::int64_t size() const;
  bool closed() const;

  Result<std::function<Status()>> set_aside() const override;
  // The elements as they would come out, component by component; last, whether it is closed.
  Result<std::vector<Tensor>> contents() const override;

 private:
  enum class Action { kEnqueue, kEnqueueMany, kClose, kDequeue, kDequeueMany, kDequeueUpTo };
  enum class Progress { kNone, kSome, kComplete };
  struct Attempt {
    Action action;
    Caller caller;
    Done done;
    Tuple rows = {};                // to enqueue
    std::int64_t left = 1;          // elements to go
    std::vector<Tuple> taken = {};  // dequeued so far
    Cancellation::Token token = 0;
    Status status = {};
    bool enters() const { return action <= Action::kClose; }
  };
  using Attempts = std::list<std::shared_ptr<Attempt>>;

  Status check_element(const Tuple& tuple) const;
  Status check_rows(const Tuple& tuple) const;
  static Status why_cancelled(const Attempt& attempt);
  void start(std::shared_ptr<Attempt> attempt);
  // Takes the attempt out if it still waits.
  bool withdraw(const std::shared_ptr<Attempt>& attempt);
  void cancel(const std::shared_ptr<Attempt>& attempt);
  // Lets waiting attempts get on until none can, then ends those that are complete.
  void flush();
  bool advance(Attempts& attempts, Attempts& finished) ARGOSY_REQUIRES(mutex_);
  Progress advance_or_fail(Attempt& attempt) ARGOSY_REQUIRES(mutex_);
  Progress advance(Attempt& attempt) ARGOSY_REQUIRES(mutex_);
  Progress advance_enqueue(Attempt& attempt) ARGOSY_REQUIRES(mutex_);
  Progress advance_dequeue(Attempt& attempt) ARGOSY_REQUIRES(mutex_);
  void finish(Attempt& attempt);
  void give_back(Attempt& attempt) ARGOSY_REQUIRES(mutex_);
  Result<Tuple> joined(const std::vector<Tuple>& elements, Allocator& memory) const;

  const std::string name_;
  const QueueOptions options_;
  mutable Mutex mutex_;
  std::unique_ptr<QueueItems> items_ ARGOSY_GUARDED_BY(mutex_);
  HeldItems held_ ARGOSY_GUARDED_BY(mutex_);  // counts them
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  Attempts enqueues_ ARGOSY_GUARDED_BY(mutex_), dequeues_ ARGOSY_GUARDED_BY(mutex_);
};

// Tensors of one dtype as rows of one tensor: of `shape`, or, where that is not fully known, of the largest sizes among
// them, the rest being zeros (empty strings).
Result<Tensor> stacked(const std::vector<const Tensor*>& parts, DType dtype, const PartialShape& shape,
                       Allocator& memory);

}  // namespace argosy
