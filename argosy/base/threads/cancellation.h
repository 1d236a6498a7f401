// Cancellation: one switch for a step. Code that waits registers a callback; code that gives up calls cancel() with a
// reason. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

class Cancellation {
 public:
  using Token = std::int64_t;  // names a callback, to remove it

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }  // cancel() was called
  // The first reason given; OK while not cancelled.
  Status status() const;

  // The first call decides the reason and runs the registered callbacks, on this thread, with no lock held.
  // `reason` must be an error. Later calls do nothing.
  void cancel(Status reason);

  // Registers `on_cancel`, which cancel() calls once. False: cancel() came before, and the callback is never called.
  bool add(std::function<void()> on_cancel, Token* token);
  // After it returns, the callback has finished or will never run. Must not be called from inside the callback.
  void remove(Token token);

 private:
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  CondVar idle_;
  Status reason_ ARGOSY_GUARDED_BY(mutex_);
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  bool running_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::map<Token, std::function<void()>> callbacks_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
