// QueueState: the resource behind a queue's handle, with one function per operation (queue_operations.h says how they
// end). Thread-safe. Internal to the queue and barrier families.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/op/state/holder.h"
#include "argosy/op/state/restorable.h"
#include "argosy/ops/queue/queue_operations.h"
#include "argosy/tensor/resource.h"

namespace argosy {

class QueueState final : public Resource, public Restorable, public Holder {
 public:
  using Tuple = QueueItems::Tuple;
  using Done = QueueOperation::Done;
  // The caller of an operation. Without a cancellation (null), an operation never waits: it ends with
  // FAILED_PRECONDITION instead.
  struct Caller {
    Cancellation* cancellation = nullptr;
    Allocator* memory = nullptr;  // for batches
  };

  QueueState(std::string name, QueueOptions options);
  std::string describe() const override;
  const QueueOptions& options() const { return operations_->options(); }
  // INVALID_ARGUMENT, naming the difference, unless `asked`, for a queue of the same name, equals this one's options.
  Status check_same(const QueueOptions& asked) const { return options().check_same(operations_->name(), asked); }

  // Adds one element, one tensor per component. The tensors must own their memory.
  void enqueue(Tuple element, const Caller& caller, Done done);
  // Adds one element per row of the tensors, each as soon as there is room for it.
  void enqueue_many(Tuple rows, const Caller& caller, Done done);
  void dequeue(const Caller& caller, Done done);
  // Takes `count` elements, stacked as rows; with `up_to`, fewer once the queue is closed.
  void dequeue_many(std::int64_t count, bool up_to, const Caller& caller, Done done);
  // Closes the queue, after the enqueues that wait now; with `cancel_pending` at once, and those end with CANCELLED.
  void close(bool cancel_pending, const Caller& caller, Done done);

  std::int64_t size() const { return operations_->size(); }
  bool closed() const { return operations_->closed(); }

  void release_contents() override { operations_->release_contents(); }
  Result<std::function<Status()>> snapshot() const override { return operations_->snapshot(); }
  // As QueueOperations::contents().
  Result<std::vector<Tensor>> contents() const override { return operations_->contents(); }

 private:
  static std::shared_ptr<QueueOperation> operation(QueueAttempt::Action action, const Caller& caller, Done done);

  const std::shared_ptr<QueueOperations> operations_;
};

}  // namespace argosy
