// BlockingPool: threads for work that waits: files, peers, queues. Each task has its own thread, up to a limit, so no
// task waits behind another. Idle threads end. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

class BlockingPool {
 public:
  struct Options {
    int most_threads = 256;                // beyond, tasks queue
    std::chrono::milliseconds idle{5000};  // after which a thread without work ends
    std::string name = "blocking";
  };

  explicit BlockingPool(Options options);
  BlockingPool() : BlockingPool(Options{}) {}
  // Waits for every task. Must not run on a thread of the pool.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // RESOURCE_EXHAUSTED when the pool has no thread and the system has none left; the task never runs. Tasks must not
  // throw.
  Status schedule(std::function<void()> task);

  int threads() const;

 private:
  void serve(std::list<std::thread>::iterator self);
  void join_ended() ARGOSY_EXCLUDES(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::function<void()>> tasks_ ARGOSY_GUARDED_BY(mutex_);
  int idle_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::list<std::thread> running_ ARGOSY_GUARDED_BY(mutex_);
  std::list<std::thread> ended_ ARGOSY_GUARDED_BY(mutex_);  // to be joined
};

}  // namespace argosy
