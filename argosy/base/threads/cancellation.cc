#include "argosy/base/threads/cancellation.h"

#include "argosy/base/guard.h"

namespace argosy {

Status Cancellation::status() const {
  MutexLock lock(mutex_);
  return copy_of(reason_);
}

void Cancellation::cancel(Status reason) {
  ARGOSY_CHECK(!reason.ok());
  std::map<Token, std::function<void()>> callbacks;
  {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return;
    reason_ = std::move(reason);
    cancelled_.store(true, std::memory_order_release);
    running_ = true;
    callbacks.swap(callbacks_);
  }
  for (auto& [token, callback] : callbacks) contained("a cancellation's callback", callback);
  MutexLock lock(mutex_);
  running_ = false;
  idle_.notify_all();
}

bool Cancellation::add(std::function<void()> on_cancel, Token* token) {
  MutexLock lock(mutex_);
  if (!reason_.ok()) return false;
  *token = next_++;
  callbacks_.emplace(*token, std::move(on_cancel));
  return true;
}

void Cancellation::remove(Token token) {
  MutexLock lock(mutex_);
  if (callbacks_.erase(token) > 0) return;
  while (running_) idle_.wait(mutex_);
}

}  // namespace argosy
