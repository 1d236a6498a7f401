// Timers: one thread that calls back when a time has come. The thread exists only once a timer does. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

class Timers {
 public:
  using Token = std::int64_t;
  using Time = std::chrono::steady_clock::time_point;

  // No timer goes off any more; one that does just now is waited for.
  ~Timers();
  // At `when`, `callback` is called, once and briefly. RESOURCE_EXHAUSTED when there is no thread for it.
  Result<Token> set(Time when, std::function<void()> callback);
  // It does not go off after this: one that is doing so is waited for, unless it is that timer's call that asks.
  void cancel(Token token);

 private:
  void watch();

  Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<Time, Token>, std::function<void()>> timers_ ARGOSY_GUARDED_BY(mutex_);
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Token running_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
  std::thread::id watcher_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
