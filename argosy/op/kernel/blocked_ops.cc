#include "argosy/op/kernel/blocked_ops.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy {

namespace {

// The error of a cancelled operation. A reason other than CANCELLED, such as a deadline, is returned unchanged.
Status why_cancelled(const Cancellation& cancellation, const char* what) {
  return guarded([&] {
    Status reason = cancellation.status();
    return reason.code() == Code::kCancelled ? cancelled(what, " operation was cancelled") : reason;
  });
}

}  // namespace

void BlockedOps::add(std::shared_ptr<void> owner, Cancellation* cancellation, const char* what,
                     TryComplete try_complete, Done done) {
  const auto waiting = std::make_shared<Waiting>(
      Waiting{std::move(owner), cancellation, what, std::move(try_complete), std::move(done)});
  const std::shared_ptr<void> keep = waiting->owner;
  bool accepted = true;
  {
    MutexLock lock(mutex_);
    const auto on_cancel = [this, waiting] {
      if (!withdraw(waiting)) return;
      const std::shared_ptr<void> alive = std::move(waiting->owner);
      Done ended = std::move(waiting->done);
      call_and_release(ended, waiting->what, why_cancelled(*waiting->cancellation, waiting->what));
      wake();  // who stood behind
    };
    accepted = cancellation == nullptr || cancellation->add(on_cancel, &waiting->token);
    if (accepted) waiting_.push_back(waiting);
  }
  if (!accepted) return waiting->done(why_cancelled(*cancellation, what));
  wake();
  if (cancellation == nullptr && withdraw(waiting)) {
    waiting->done(failed_precondition(what, ": outside a step nothing can be waited for"));
  }
}

// Completing an operation may change the state that another one waits for, hence the loop.
void BlockedOps::wake() {
  while (true) {
    List list;
    {
      MutexLock lock(mutex_);
      list = finished();
    }
    if (list.empty()) return;
    finish(std::move(list));
  }
}

bool BlockedOps::withdraw(const std::shared_ptr<Waiting>& waiting) {
  MutexLock lock(mutex_);
  const auto found = std::find(waiting_.begin(), waiting_.end(), waiting);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

// An attempt that throws is over: with that error.
bool BlockedOps::completed(Waiting& waiting) {
  try {
    return waiting.try_complete(waiting.status);
  } catch (...) {
    waiting.status = status_of_exception();
    return true;
  }
}

// Skips operations that are being cancelled: their cancellation callbacks end them.
BlockedOps::List BlockedOps::finished() {
  List over;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Waiting& waiting = **at;
    if (waiting.cancellation != nullptr && waiting.cancellation->cancelled()) {
      ++at;
    } else if (completed(waiting)) {
      over.splice(over.end(), waiting_, at++);
    } else if (order_ == Order::kStrict) {
      break;
    } else {
      ++at;
    }
  }
  return over;
}

// Whoever is here was not being cancelled when it was served, so no two threads wait for each other's callbacks: they
// serve younger cancellations only.
void BlockedOps::finish(List list) {
  for (const auto& waiting : list) {
    if (waiting->cancellation != nullptr) waiting->cancellation->remove(waiting->token);
    Done done = std::move(waiting->done);
    call_and_release(done, waiting->what, std::move(waiting->status));
  }
}

}  // namespace argosy
