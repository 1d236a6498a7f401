// Deadlines: one thread that pulls cancellation switches when their time comes. The thread exists only once a deadline
// does. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <thread>

#include "argosy/base/cancellation.h"

namespace argosy {

class Deadlines {
 public:
  using Token = std::int64_t;
  using Time = std::chrono::steady_clock::time_point;

  ~Deadlines();
  // At `when`, cancels with DEADLINE_EXCEEDED. The switch must live until remove() has returned.
  Token add(Time when, Cancellation& cancellation, std::string what);
  void remove(Token token);

 private:
  struct Entry {
    Token token;
    Cancellation* cancellation;
    std::string what;
  };
  void watch();

  Mutex mutex_;
  CondVar changed_;
  std::multimap<Time, Entry> entries_ ARGOSY_GUARDED_BY(mutex_);
  Token next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Token firing_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
