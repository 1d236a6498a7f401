// What stands behind a queue's handle: the operations that ops ask for (queue_operations.h says how they end).
// Thread-safe. Internal to the queue and barrier families.
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
  // Whose operation it is. Without a cancellation nothing could end a wait: FAILED_PRECONDITION instead of one.
  struct Caller {
    Cancellation* cancellation = nullptr;
    Allocator* memory = nullptr;  // for batches
  };

  QueueState(std::string name, QueueOptions options);
  std::string describe() const override;
  const QueueOptions& options() const { return operations_->options(); }
  // INVALID_ARGUMENT saying how a queue asked for by this one's name differs from it.
  Status check_same(const QueueOptions& asked) const { return options().check_same(operations_->name(), asked); }

  // One element, of one tensor per component. Tensors must keep their memory.
  void enqueue(Tuple element, const Caller& caller, Done done);
  // One element per row of the tensors; some may be in the queue before others have room.
  void enqueue_many(Tuple rows, const Caller& caller, Done done);
  void dequeue(const Caller& caller, Done done);
  // `count` elements as rows; with `up_to`, what there is once the queue is closed.
  void dequeue_many(std::int64_t count, bool up_to, const Caller& caller, Done done);
  // No more enqueues after those that wait now, or, with `cancel_pending`, after those that are done.
  void close(bool cancel_pending, const Caller& caller, Done done);

  std::int64_t size() const { return operations_->size(); }
  bool closed() const { return operations_->closed(); }

  void let_go() override { operations_->let_go(); }
  Result<std::function<Status()>> set_aside() const override { return operations_->set_aside(); }
  // The elements as they would come out, component by component; last, whether it is closed.
  Result<std::vector<Tensor>> contents() const override { return operations_->contents(); }

 private:
  static std::shared_ptr<QueueOperation> operation(QueueAttempt::Action action, const Caller& caller, Done done);

  const std::shared_ptr<QueueOperations> operations_;
};

}  // namespace argosy
