// Timers: one thread that calls back at given times. The first timer starts the thread. Thread-safe.
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

  // Cancels all timers; waits for a callback that is running.
  ~Timers();
  // Calls `callback` once at `when`, on the timer thread; it must be brief. RESOURCE_EXHAUSTED: no thread is left for
  // it.
  Result<Token> set(Time when, std::function<void()> callback);
  // After the return the callback has ended or will never run. A timer may cancel itself from its callback.
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
