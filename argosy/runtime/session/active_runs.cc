#include "argosy/runtime/session/active_runs.h"

#include "argosy/base/guard.h"
#include "argosy/runtime/device_set/watchdog.h"

namespace argosy {

Status session_closed() { return cancelled("the session was closed").with_id("ARG-RUN-002"); }

void ActiveRuns::begin_close() {
  MutexLock lock(mutex_);
  if (closed_) return;
  closed_ = true;
  closed_at_ = std::chrono::steady_clock::now();
  const Status why = guarded([] { return session_closed(); });
  for (const ActiveRun* run = first_; run != nullptr; run = run->next_)
    run->context_.cancellation().cancel(copy_of(why));
}

Status ActiveRuns::close(std::chrono::milliseconds stuck_after) {
  begin_close();
  MutexLock lock(mutex_);
  const auto end = closed_at_ + stuck_after;
  const bool bounded = stuck_after.count() > 0;
  while (running_ > 0) {
    if (!bounded) {
      changed_.wait(mutex_);
    } else if (running_ == stuck_ || !changed_.wait_until(mutex_, end)) {
      return deadline_exceeded(running_,
                               " steps of the session did not end after it was closed: ", stuck_text(first_->context_))
          .with_id("ARG-STUCK-002");
    }
  }
  return ok_status();
}

void ActiveRuns::wait() {
  MutexLock lock(mutex_);
  while (running_ > 0) changed_.wait(mutex_);
}

Status ActiveRun::enter() {
  MutexLock lock(runs_.mutex_);
  if (runs_.closed_) return session_closed();
  entered_ = true;
  next_ = runs_.first_;
  if (next_ != nullptr) next_->before_ = this;
  runs_.first_ = this;
  ++runs_.running_;
  return ok_status();
}

// Deadline and link go first: they refer to the context, which lives a little longer.
ActiveRun::~ActiveRun() {
  link_.reset();
  deadline_.reset();
  MutexLock lock(runs_.mutex_);
  if (!entered_) return;
  (before_ != nullptr ? before_->next_ : runs_.first_) = next_;
  if (next_ != nullptr) next_->before_ = before_;
  if (stuck_) --runs_.stuck_;
  --runs_.running_;
  if (runs_.closed_ && runs_.running_ == 0) runs_.changed_.notify_all();
}

Status ActiveRun::end_after(std::chrono::milliseconds time, Deadlines& deadlines) {
  return deadline_.emplace(&deadlines)
      .set(std::chrono::steady_clock::now() + time, context_.cancellation(),
           str_cat("the step took longer than ", time.count(), " ms"));
}

void ActiveRun::end_with(Cancellation& other) {
  link_.emplace(&other, [this, &other] { context_.cancellation().cancel(other.status()); });
  if (link_->too_late()) context_.cancellation().cancel(other.status());
}

void ActiveRun::mark_stuck() {
  MutexLock lock(runs_.mutex_);
  if (std::exchange(stuck_, true)) return;
  ++runs_.stuck_;
  runs_.changed_.notify_all();
}

}  // namespace argosy
