#include "argosy/base/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/base/threads/spin.h"

namespace argosy {

namespace {

struct Place {
  const ThreadPool* pool = nullptr;
  int index = -1;
};
thread_local Place place;

std::int64_t measure_wake_cost() {
  constexpr int kSamples = 9;
  constexpr auto kAsleep = std::chrono::microseconds(150);  // long enough for the core to go idle
  Mutex mutex;
  CondVar wake;
  std::int64_t called = 0;
  bool closing = false;
  std::vector<std::int64_t> costs;
  try {
    costs.reserve(kSamples);  // nothing may be thrown on the thread
    std::thread sleeper([&] {
      MutexLock lock(mutex);
      while (!closing) {
        wake.wait(mutex);
        if (called != 0 && costs.size() < kSamples) costs.push_back(now_nanos() - called);
        called = 0;
      }
    });
    for (int i = 0; i < kSamples; ++i) {
      std::this_thread::sleep_for(kAsleep);
      {
        MutexLock lock(mutex);
        called = now_nanos();
      }
      wake.notify_one();
    }
    {
      MutexLock lock(mutex);
      closing = true;
    }
    wake.notify_one();
    sleeper.join();
  } catch (const std::exception&) {
    costs.clear();  // no thread to be had, or no memory for one: none will be woken either
  }
  if (costs.empty()) return kSpinNanos;
  std::sort(costs.begin(), costs.end());
  // Outside these bounds it was something else that was measured.
  return std::clamp<std::int64_t>(costs[costs.size() / 2], 2'000, 200'000);
}

void run_function(void* argument) {
  const std::unique_ptr<std::function<void()>> task(static_cast<std::function<void()>*>(argument));
  run_task(*task, "a pool's task");
}

}  // namespace

std::int64_t wake_cost_nanos() {
  static const std::int64_t cost = measure_wake_cost();
  return cost;
}

ThreadPool::ThreadPool(const Options& options) : options_(options) {
  const int wanted = options.threads > 0 ? options.threads : available_cores();
  workers_.reserve(static_cast<std::size_t>(wanted));
  for (int i = 0; i < wanted; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    try {
      workers_.back()->thread = std::thread([this, i] { serve(i); });
    } catch (const std::exception& e) {
      workers_.pop_back();
      ARGOSY_LOG(kWarning, "thread pool ", options_.name, ": ", i, " of ", wanted, " threads: ", e.what());
      break;
    }
  }
  started_.store(true, std::memory_order_release);
  started_.notify_all();
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

int ThreadPool::worker() const { return place.pool == this ? place.index : -1; }

void ThreadPool::schedule(std::function<void()> task) {
  auto kept = std::make_unique<std::function<void()>>(std::move(task));
  schedule({run_function, kept.get()});
  static_cast<void>(kept.release());
}

void ThreadPool::schedule(PoolTask task) {
  if (workers_.empty()) return task.run(task.argument);
  const int index = worker();
  if (index < 0 || !workers_[static_cast<std::size_t>(index)]->deque.push(task)) {
    MutexLock lock(mutex_);
    injected_.push_back(task);
    injected_count_.fetch_add(1, std::memory_order_seq_cst);
  }
  if (searching_.load(std::memory_order_seq_cst) == 0 && sleeping_.load(std::memory_order_seq_cst) > 0) wake_one();
}

void ThreadPool::wake_one() {
  MutexLock lock(mutex_);
  wake_.notify_one();
}

bool ThreadPool::take_injected(PoolTask* task) {
  if (injected_count_.load(std::memory_order_seq_cst) == 0) return false;
  MutexLock lock(mutex_);
  if (injected_.empty()) return false;
  *task = injected_.front();
  injected_.pop_front();
  injected_count_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

bool ThreadPool::steal(std::uint32_t first, PoolTask* task) {
  const auto n = static_cast<std::uint32_t>(workers_.size());
  for (std::uint32_t k = 0; k < n; ++k) {
    WorkDeque& deque = workers_[(first + k) % n]->deque;
    // A steal lost to another thread is no sign of an empty deque.
    while (!deque.empty()) {
      if (deque.steal(task)) return true;
    }
  }
  return false;
}

bool ThreadPool::find(int index, PoolTask* task) {
  Worker& self = *workers_[static_cast<std::size_t>(index)];
  return self.deque.pop(task) || take_injected(task) || steal(self.victim++, task);
}

bool ThreadPool::anything() const {
  if (injected_count_.load(std::memory_order_seq_cst) > 0) return true;
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) { return !worker->deque.empty(); });
}

bool ThreadPool::run_one() {
  PoolTask task;
  const int index = worker();
  if (workers_.empty() || !(index >= 0 ? find(index, &task) : take_injected(&task) || steal(0, &task))) return false;
  task.run(task.argument);
  return true;
}

void ThreadPool::serve(int index) {
  started_.wait(false, std::memory_order_acquire);
  place = {this, index};
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  set_thread_budget(options_.thread_budget);
  PoolTask task;
  while (find(index, &task) || search(index, &task)) task.run(task.argument);
}

bool ThreadPool::search(int index, PoolTask* task) {
  while (true) {
    searching_.fetch_add(1, std::memory_order_seq_cst);
    const bool seen = spin_until([this] { return anything(); }, wake_cost_nanos());
    if (seen && find(index, task)) {
      // The last to look around takes its eyes off the queues: another must look if there is more.
      if (searching_.fetch_sub(1, std::memory_order_seq_cst) == 1 && sleeping_.load(std::memory_order_seq_cst) > 0 &&
          anything()) {
        wake_one();
      }
      return true;
    }
    MutexLock lock(mutex_);
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    while (!anything() && !closing_) wake_.wait(mutex_);
    sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    if (closing_ && !anything()) return false;
  }
}

}  // namespace argosy
