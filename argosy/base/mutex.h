// Mutex and condition variable for clang's -Wthread-safety. State names its lock: `int n ARGOSY_GUARDED_BY(mutex_);`,
// `void f() ARGOSY_REQUIRES(mutex_);`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ARGOSY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ARGOSY_THREAD_ATTRIBUTE(x)
#endif
#define ARGOSY_GUARDED_BY(mutex) ARGOSY_THREAD_ATTRIBUTE(guarded_by(mutex))
#define ARGOSY_REQUIRES(mutex) ARGOSY_THREAD_ATTRIBUTE(requires_capability(mutex))
#define ARGOSY_EXCLUDES(mutex) ARGOSY_THREAD_ATTRIBUTE(locks_excluded(mutex))

namespace argosy {

class ARGOSY_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() ARGOSY_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() ARGOSY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() ARGOSY_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ARGOSY_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ARGOSY_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() ARGOSY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// REQUIRES for every wait: the mutex is held. Wake-ups may be spurious: wait in a loop over the condition.
class CondVar {
 public:
  void wait(Mutex& mutex) ARGOSY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // False on time-out.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) ARGOSY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool woken = cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void notify_one() { cv_.notify_one(); }
  void notify_all() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace argosy
