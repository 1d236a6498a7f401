// Alarms: one thread that calls back when a time has come. The thread exists only once an alarm does. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

class Alarms {
 public:
  using Token = std::int64_t;
  using Time = std::chrono::steady_clock::time_point;

  // No alarm goes off any more; one that does just now is waited for.
  ~Alarms();
  // At `when`, `ring` is called, once and briefly. RESOURCE_EXHAUSTED when there is no thread for it.
  Result<Token> set(Time when, std::function<void()> ring);
  // It does not go off after this: one that is doing so is waited for, unless it is that alarm's call that asks.
  void drop(Token token);

 private:
  void watch();

  Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<Time, Token>, std::function<void()>> alarms_ ARGOSY_GUARDED_BY(mutex_);
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Token ringing_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
  std::thread::id watcher_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
