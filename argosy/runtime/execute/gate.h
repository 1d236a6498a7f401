// Gate: where one thread waits for others to change something it looks at. Waits awake for a moment, then asleep.
#pragma once

#include <atomic>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/spin.h"

namespace argosy {

class Gate {
 public:
  // After a change that a waiter may be looking at (made with release order or stronger).
  void open() {
    // Both sides write the count, so one of them comes second and sees what the other did before: we the sleeper, or it
    // the change.
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    MutexLock lock(mutex_);
    changed_.notify_all();
  }

  // Returns once done(), which must be safe to call from here at any time.
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
