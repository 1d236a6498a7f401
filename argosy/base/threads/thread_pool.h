// ThreadPool: threads for work that computes. A worker runs its own tasks first, youngest first, while their data are
// in its cache. Without a task of its own, it steals the oldest task of another worker. Work that waits (files, peers,
// queues) belongs into a BlockingPool.
//
// Handing work to a sleeping thread costs tens of microseconds (wake_cost_nanos()). So work below about twice that is
// better done on the spot. A worker without work searches for about that long before it sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/work_deque.h"

namespace argosy {

// The time from the notification of a sleeping thread until it runs. Measured once, at the first call, in about 2 ms.
std::int64_t wake_cost_nanos();

class ThreadPool {
 public:
  struct Options {
    int threads = 0;            // 0 = available_cores()
    int thread_budget = 1;      // of each worker: argosy/base/threads/parallel.h
    std::string name = "pool";  // of the threads
  };

  // With fewer threads left in the system, the pool is smaller. With none, tasks run on the thread that schedules them.
  explicit ThreadPool(const Options& options);
  ThreadPool() : ThreadPool(Options{}) {}
  // Runs all scheduled tasks, and those that they schedule. Must not run on a worker.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }

  // From any thread; never waits for a task. The first form allocates nothing when called on a worker. Tasks must not
  // throw.
  void schedule(void (*run)(void* argument), void* argument) { schedule(PoolTask{run, argument}); }
  void schedule(std::function<void()> task);

  // Runs one queued task, if any, on the calling thread: for threads that wait for tasks to end.
  bool run_one();
  // The calling thread's number if it is a worker of this pool, else -1.
  int worker() const;

 private:
  struct alignas(64) Worker {
    WorkDeque deque;
    std::uint32_t victim = 0;  // where stealing begins next
    std::thread thread;
  };

  void schedule(PoolTask task);
  void serve(int index);
  bool find(int index, PoolTask* task);
  bool take_injected(PoolTask* task);
  bool steal(std::uint32_t first, PoolTask* task);
  bool anything() const;
  void wake_one();
  // Without work: searches, then sleeps. False when the pool closes and no task is left.
  bool search(int index, PoolTask* task);

  const Options options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> started_{false};  // workers_ is complete

  // Workers that search, and workers that sleep. A thread that adds work wakes a sleeper unless a worker searches. A
  // worker that stops searching first decrements searching_, then looks once more. So no task is missed.
  std::atomic<int> searching_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<std::int64_t> injected_count_{0};

  Mutex mutex_;
  CondVar wake_;
  std::deque<PoolTask> injected_ ARGOSY_GUARDED_BY(mutex_);  // from outside, and what a full deque could not take
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy
