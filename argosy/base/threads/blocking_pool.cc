#include "argosy/base/threads/blocking_pool.h"

#include <pthread.h>

#include <system_error>

#include "argosy/base/guard.h"

namespace argosy {

BlockingPool::BlockingPool(Options options) : options_(std::move(options)) {}

BlockingPool::~BlockingPool() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    wake_.notify_all();
    while (!running_.empty()) wake_.wait(mutex_);
  }
  join_ended();
}

Status BlockingPool::schedule(std::function<void()> task) {
  join_ended();
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  if (static_cast<int>(tasks_.size()) <= idle_) {
    wake_.notify_one();
    return {};
  }
  const int threads = static_cast<int>(running_.size());
  if (threads >= options_.most_threads) return {};
  try {
    // For lack of memory it is not given up at once: those that run may all have tasks that never end.
    std::list<std::thread>* const running = &running_;  // the lambda runs under the lock, which clang does not see
    once_there_is_memory([this, running] {
      running->emplace_back();
      const auto self = std::prev(running->end());
      try {
        *self = std::thread([this, self] { serve(self); });
      } catch (...) {
        running->erase(self);
        throw;
      }
    });
  } catch (const std::exception& e) {  // no thread (std::system_error), or no memory for one
    if (threads > 0) return {};        // one of them will come to it
    tasks_.pop_back();
    return resource_exhausted("no thread for ", options_.name, " work: ", e.what())
        .with_id("ARG-THREAD-001")
        .with_hint("raise the limit on threads (ulimit -u, the cgroup's pids.max)");
  }
  return {};
}

int BlockingPool::threads() const {
  MutexLock lock(mutex_);
  return static_cast<int>(running_.size());
}

void BlockingPool::serve(std::list<std::thread>::iterator self) {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      const auto deadline = std::chrono::steady_clock::now() + options_.idle;
      bool in_time = true;
      ++idle_;
      while (tasks_.empty() && !closing_ && in_time) in_time = wake_.wait_until(mutex_, deadline);
      --idle_;
      if (tasks_.empty()) {
        ended_.splice(ended_.end(), running_, self);
        wake_.notify_all();  // the destructor may wait for the last
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    run_task(task, options_.name.c_str());
  }
}

void BlockingPool::join_ended() {
  std::list<std::thread> ended;
  {
    MutexLock lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

}  // namespace argosy
