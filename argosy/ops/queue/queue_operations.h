// QueueOperations: the operations on a queue, which wait for room or for elements in the order they came, and the
// contents that they work on. Thread-safe; nobody waits on a thread. Internal to the queue family.
//
// Every operation ends with one call of its `done`: at once, or later on the thread that made it possible. After that
// call, nothing that belongs to the caller is used. A cancelled operation ends with CANCELLED, or with the error that
// the cancellation carries; the elements that it had taken go back into the queue.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/ops/queue/queue_contents.h"

namespace argosy {

struct QueueOperation : QueueAttempt {
  using Done = std::function<void(Status, QueueItems::Tuple)>;

  // Without a cancellation (null), the operation never waits: it ends with FAILED_PRECONDITION instead.
  QueueOperation(Action does, Allocator* for_batches, Cancellation* whose, Done at_end)
      : QueueAttempt{.action = does, .memory = for_batches, .cancellation = whose}, done(std::move(at_end)) {}

  Done done;
  Cancellation::Token token = 0;
};

class QueueOperations final : public std::enable_shared_from_this<QueueOperations> {
 public:
  using Tuple = QueueItems::Tuple;

  // `name`: the queue's name, for messages.
  QueueOperations(std::string name, QueueOptions options);
  const std::string& name() const { return name_; }
  const QueueOptions& options() const { return options_; }

  void start(std::shared_ptr<QueueOperation> operation);
  // Closes the queue, and ends the enqueues that wait.
  void close_and_cancel();

  void release_contents();  // as Holder: drops the elements; enqueues that wait for room go on waiting

  std::int64_t size() const;
  bool closed() const;
  // As Restorable.
  Result<std::function<Status()>> snapshot() const;
  // The components of all elements in the order in which they would be dequeued, then a bool: whether it is closed.
  Result<std::vector<Tensor>> contents() const;

 private:
  using Progress = QueueContents::Progress;
  using Waiting = std::list<std::shared_ptr<QueueOperation>>;

  Status check_idle() const ARGOSY_REQUIRES(mutex_);
  static Status why_cancelled(const QueueOperation& operation);
  // Removes the operation if it still waits; what it had taken goes back. Returns whether it did.
  bool withdraw(const std::shared_ptr<QueueOperation>& operation);
  void cancel(const std::shared_ptr<QueueOperation>& operation);
  // Advances the waiting operations until none makes progress, then calls `done` of those that ended.
  void flush();
  bool advance(Waiting& waiting, Waiting& finished) ARGOSY_REQUIRES(mutex_);
  void finish(QueueOperation& operation);

  const std::string name_;
  const QueueOptions options_;
  mutable Mutex mutex_;
  QueueContents contents_ ARGOSY_GUARDED_BY(mutex_);
  Waiting enqueues_ ARGOSY_GUARDED_BY(mutex_), dequeues_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
