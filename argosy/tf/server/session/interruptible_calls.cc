#include "argosy/tf/server/session/interruptible_calls.h"

#include "argosy/runtime/session/active_runs.h"

namespace argosy::tf {

InterruptibleCalls::Call::~Call() {
  MutexLock lock(calls_.mutex_);
  if (const auto at = calls_.calls_.find(&cancellation_); at != calls_.calls_.end()) calls_.calls_.erase(at);
}

Status InterruptibleCalls::Call::enter() {
  MutexLock lock(calls_.mutex_);
  if (calls_.closed_) return session_closed();
  calls_.calls_.insert(&cancellation_);
  return ok_status();
}

void InterruptibleCalls::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (Cancellation* const call : calls_) call->cancel(session_closed());
}

}  // namespace argosy::tf
