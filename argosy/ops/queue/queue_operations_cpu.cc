#include "argosy/ops/queue/queue_operations.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy {

QueueOperations::QueueOperations(std::string name, QueueOptions options)
    : name_(std::move(name)), options_(std::move(options)), contents_(name_, options_) {}

void QueueOperations::close_and_cancel() {
  const auto self = shared_from_this();
  Waiting pending;
  {
    MutexLock lock(mutex_);
    contents_.close();
    pending.swap(enqueues_);
  }
  for (const auto& operation : pending) {
    operation->status = guarded([] { return cancelled("Enqueue operation was cancelled"); });
    finish(*operation);
  }
  flush();
}

void QueueOperations::release_contents() {
  std::unique_ptr<QueueItems> gone;  // without the lock: they may be the last to hold other queues
  MutexLock lock(mutex_);
  gone = contents_.release();
}

std::int64_t QueueOperations::size() const {
  MutexLock lock(mutex_);
  return contents_.size();
}

bool QueueOperations::closed() const {
  MutexLock lock(mutex_);
  return contents_.closed();
}

Status QueueOperations::check_idle() const {
  if (enqueues_.empty() && dequeues_.empty()) return ok_status();
  return failed_precondition("steps wait at the queue '", name_, "'");
}

Result<std::function<Status()>> QueueOperations::snapshot() const {
  MutexLock lock(mutex_);
  ARGOSY_RETURN_IF_ERROR(check_idle());
  const std::shared_ptr<const QueueItems> items = contents_.copy();
  const auto self = std::const_pointer_cast<QueueOperations>(shared_from_this());
  return std::function<Status()>([self, items, closed = contents_.closed()]() -> Status {
    std::unique_ptr<QueueItems> now = items->copy();
    MutexLock again(self->mutex_);
    ARGOSY_RETURN_IF_ERROR(self->check_idle());
    self->contents_.restore(now, closed);
    return ok_status();
  });
}

Result<std::vector<Tensor>> QueueOperations::contents() const {
  std::unique_ptr<QueueItems> items;
  std::vector<Tensor> all;
  {
    MutexLock lock(mutex_);
    items = contents_.copy();
    all.push_back(Tensor::scalar(contents_.closed()));
  }
  while (items->size() > 0) {
    for (Tensor& component : items->pop()) all.push_back(std::move(component));
  }
  std::rotate(all.begin(), all.begin() + 1, all.end());
  return all;
}

// First come, first served. Who is being cancelled is passed over: cancel() comes for them.
bool QueueOperations::advance(Waiting& waiting, Waiting& finished) {
  bool any = false;
  for (auto at = waiting.begin(); at != waiting.end();) {
    QueueOperation& operation = **at;
    if (operation.cancelled()) {
      ++at;
      continue;
    }
    const Progress progress = contents_.advance(operation, !enqueues_.empty());
    any = any || progress != Progress::kNone;
    if (progress != Progress::kComplete) break;
    finished.splice(finished.end(), waiting, at++);
  }
  return any;
}

void QueueOperations::flush() {
  Waiting finished;
  {
    MutexLock lock(mutex_);
    for (bool again = true; again;) {
      again = advance(enqueues_, finished);
      again = advance(dequeues_, finished) || again;
    }
  }
  for (const auto& operation : finished) finish(*operation);
}

// A deadline is told as one.
Status QueueOperations::why_cancelled(const QueueOperation& operation) {
  return guarded([&] {
    Status reason = operation.cancellation->status();
    if (reason.code() != Code::kCancelled) return reason;
    return cancelled(operation.enters() ? "Enqueue" : "Dequeue", " operation was cancelled");
  });
}

void QueueOperations::start(std::shared_ptr<QueueOperation> operation) {
  const auto self = shared_from_this();  // `done` may let go of the last handle
  Cancellation* const cancellation = operation->cancellation;
  bool accepted = true;
  {
    MutexLock lock(mutex_);
    const auto on_cancel = [self, operation] { self->cancel(operation); };
    accepted = cancellation == nullptr || cancellation->add(on_cancel, &operation->token);
    if (accepted) (operation->enters() ? enqueues_ : dequeues_).push_back(operation);
  }
  if (!accepted) return operation->done(why_cancelled(*operation), {});
  flush();
  if (cancellation == nullptr && withdraw(operation)) {
    operation->done(
        failed_precondition(options_.kind_name(), " '", name_, "': outside a step nothing can be waited for"), {});
  }
}

bool QueueOperations::withdraw(const std::shared_ptr<QueueOperation>& operation) {
  MutexLock lock(mutex_);
  Waiting& waiting = operation->enters() ? enqueues_ : dequeues_;
  const auto found = std::find(waiting.begin(), waiting.end(), operation);
  if (found == waiting.end()) return false;
  waiting.erase(found);
  contents_.give_back(*operation);
  return true;
}

void QueueOperations::cancel(const std::shared_ptr<QueueOperation>& operation) {
  if (!withdraw(operation)) return;
  QueueOperation::Done done = std::move(operation->done);
  call_and_release(done, "the end of a queue's operation", why_cancelled(*operation), Tuple());
  flush();
}

// A completed operation's cancellation was not pulled when it completed, so no thread waits here for a callback that
// waits for it: whoever runs callbacks completes operations of younger cancellations only.
void QueueOperations::finish(QueueOperation& operation) {
  Tuple out;
  if (operation.status.ok() && !operation.enters()) {
    if (operation.action == QueueOperation::Action::kDequeue) {
      out = std::move(operation.taken[0]);
    } else if (auto rows = guarded([&] { return stacked_elements(operation.taken, options_, *operation.memory); });
               rows.ok()) {
      out = *std::move(rows);
    } else {
      operation.status = std::move(rows).status();
      MutexLock lock(mutex_);
      contents_.give_back(operation);
    }
  }
  if (operation.cancellation != nullptr) operation.cancellation->remove(operation.token);
  QueueOperation::Done done = std::move(operation.done);
  call_and_release(done, "the end of a queue's operation", std::move(operation.status), std::move(out));
}

}  // namespace argosy
