// RankWaiter: a rank's thread waits here for other ranks. It spins for about the cost of a wake-up, then sleeps.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "argosy/base/clock.h"
#include "argosy/base/mutex.h"
#include "argosy/base/threads/spin.h"

namespace argosy {

class alignas(64) RankWaiter {
 public:
  // Waits until ready() is true, or until the deadline on the clock of now_nanos() (0 = none). Returns the last
  // ready(). `may_spin`: there is a core for every rank; else the thread calls sched_yield() instead of spinning.
  // REQUIRES: writers store what ready() reads with seq_cst, then call wake(). One thread at a time.
  template <typename Ready>
  bool wait(const Ready& ready, std::int64_t deadline_nanos, bool may_spin) {
    if (may_spin) {
      spin_until(ready);
    } else {
      const std::int64_t end = now_nanos() + kYieldNanos;
      while (!ready() && now_nanos() < end) sched_yield();
    }
    if (ready()) return true;
    MutexLock lock(mutex_);
    // Ordered before the next look at ready(), as a waker's change is before its look at asleep_.
    asleep_.store(true, std::memory_order_seq_cst);
    bool is_ready = ready();
    for (; !is_ready; is_ready = ready()) {
      if (deadline_nanos == 0) {
        wake_.wait(mutex_);
        continue;
      }
      const std::int64_t left = deadline_nanos - now_nanos();
      if (left <= 0) break;
      wake_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::nanoseconds(left));
    }
    asleep_.store(false, std::memory_order_relaxed);
    return is_ready;
  }

  // Wakes the thread. Returns false if none sleeps.
  bool wake() {
    if (!asleep_.load(std::memory_order_seq_cst)) return false;
    MutexLock lock(mutex_);
    wake_.notify_one();
    return true;
  }

  // True while the rank is inside a blocking call.
  std::atomic<bool> inside{false};

 private:
  static constexpr std::int64_t kYieldNanos = 100'000;  // longer than a spin: yielding costs other threads nothing

  std::atomic<bool> asleep_{false};  // written under the mutex; read without it to see whether to wake
  Mutex mutex_;
  CondVar wake_;
};

}  // namespace argosy
