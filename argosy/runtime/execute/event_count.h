// EventCount: one thread waits here for a condition that other threads make true. It spins for a moment, then sleeps.
#pragma once

#include <atomic>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/spin.h"

namespace argosy {

class EventCount {
 public:
  // Wakes the waiter, so that it checks its condition again. Called after the change, which is made with release order
  // or stronger.
  void notify() {
    // Both sides write the count, so one of them comes second, and sees what the other did before: this one sees the
    // sleeper, or the waiter sees the change.
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    MutexLock lock(mutex_);
    changed_.notify_all();
  }

  // Returns once done() is true. It is called again and again, also with the mutex held.
  template <typename Done>
  void wait(const Done& done) {
    if (spin_until(done)) return;
    MutexLock lock(mutex_);
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    while (!done()) changed_.wait(mutex_);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> sleepers_{0};
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace argosy
