// Threads for work that computes: a worker runs what it queued itself, youngest first, while it is hot in its cache,
// and steals the oldest of others when it has none. Work that waits (files, peers, queues) belongs into a BlockingPool.
//
// Handing work to a sleeping thread costs tens of microseconds (wake_cost_nanos()): whatever costs less than about
// twice that is better done on the spot. Out of work, a worker looks around for about that long before it sleeps.
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

// What it takes from notifying a sleeping thread until it runs, on this machine as it is: measured once, at the first
// call, in about 2 ms.
std::int64_t wake_cost_nanos();

class ThreadPool {
 public:
  struct Options {
    int threads = 0;            // 0 = available_cores()
    int thread_budget = 1;      // of each worker: argosy/base/threads/parallel.h
    std::string name = "pool";  // of the threads
  };

  // Where the system has fewer threads left, the pool has fewer; with none at all, tasks run where they are scheduled.
  explicit ThreadPool(const Options& options);
  ThreadPool() : ThreadPool(Options{}) {}
  // Runs everything that was scheduled, and what that schedules. Not from a worker.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }

  // From any thread, never blocks on work. The first form allocates nothing on a worker. Tasks must not throw.
  void schedule(void (*run)(void* argument), void* argument) { schedule(PoolTask{run, argument}); }
  void schedule(std::function<void()> task);

  // Runs one task that waits, if there is one, on the calling thread: for those who wait for tasks to finish.
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
  // Out of work: look around, then sleep. False when the pool closes and nothing is left.
  bool search(int index, PoolTask* task);

  const Options options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> started_{false};  // workers_ is complete

  // Workers that look around, and those that sleep. Whoever brings work wakes a sleeper unless somebody looks around;
  // who stops looking around looks once more, after having said so: no work is left lying.
  std::atomic<int> searching_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<std::int64_t> injected_count_{0};

  Mutex mutex_;
  CondVar wake_;
  std::deque<PoolTask> injected_ ARGOSY_GUARDED_BY(mutex_);  // from outside, and what a full deque could not take
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy
