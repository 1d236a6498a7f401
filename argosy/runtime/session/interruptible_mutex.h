// InterruptibleMutex: a mutex for long work, such as a compilation. A thread that waits for it stops waiting when its
// own step is cancelled: check_interrupted() throws (argosy/base/threads/interrupt.h). A thread without an
// InterruptScope waits for as long as it takes.
#pragma once

#include <chrono>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/interrupt.h"

namespace argosy {

class ARGOSY_THREAD_ATTRIBUTE(capability("mutex")) InterruptibleMutex {
 public:
  // Throws Interrupted; the mutex is then not locked.
  void lock() ARGOSY_THREAD_ATTRIBUTE(acquire_capability()) {
    constexpr std::chrono::milliseconds kBetweenLooks(50);
    MutexLock lock(mutex_);
    while (taken_) {
      check_interrupted();
      (void)freed_.wait_until(mutex_, std::chrono::steady_clock::now() + kBetweenLooks);
    }
    taken_ = true;
  }
  void unlock() ARGOSY_THREAD_ATTRIBUTE(release_capability()) {
    MutexLock lock(mutex_);
    taken_ = false;
    freed_.notify_one();
  }

 private:
  Mutex mutex_;
  CondVar freed_;
  bool taken_ ARGOSY_GUARDED_BY(mutex_) = false;
};

class ARGOSY_THREAD_ATTRIBUTE(scoped_lockable) InterruptibleLock {
 public:
  explicit InterruptibleLock(InterruptibleMutex& mutex) ARGOSY_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~InterruptibleLock() ARGOSY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  InterruptibleLock(const InterruptibleLock&) = delete;
  InterruptibleLock& operator=(const InterruptibleLock&) = delete;

 private:
  InterruptibleMutex& mutex_;
};

}  // namespace argosy
