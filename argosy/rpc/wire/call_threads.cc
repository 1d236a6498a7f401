#include "argosy/rpc/wire/call_threads.h"

#include <chrono>
#include <exception>
#include <utility>

namespace argosy::tf {

namespace {

constexpr std::size_t kMostResting = 8;
constexpr std::chrono::seconds kLongestRest{1};  // each thread's heap keeps memory

}  // namespace

CallThreads::~CallThreads() {
  MutexLock lock(mutex_);
  closing_ = true;
  for (Worker* const worker : resting_) worker->wake.notify_one();
  while (ended_.size() < workers_.size()) ended_changed_.wait(mutex_);
  join_ended();
}

bool CallThreads::run(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (!resting_.empty()) {
    Worker& worker = *resting_.back();
    resting_.pop_back();
    worker.work = std::move(work);
    worker.wake.notify_one();
    return true;
  }
  join_ended();
  try {
    Worker& worker = workers_.emplace_back();
    worker.work = std::move(work);
    try {
      worker.thread = std::thread([this, &worker] { serve(worker); });
    } catch (...) {
      workers_.pop_back();
      throw;
    }
  } catch (const std::exception&) {  // no thread left, or no memory for one
    return false;
  }
  return true;
}

int CallThreads::threads() const {
  MutexLock lock(mutex_);
  return static_cast<int>(workers_.size() - ended_.size());
}

int CallThreads::resting() const {
  MutexLock lock(mutex_);
  return static_cast<int>(resting_.size());
}

bool CallThreads::rest(Worker& me) {
  if (closing_ || resting_.size() >= kMostResting) return false;
  if (!resting_.empty() && !resting_.back()->counts)
    resting_.back()->wake.notify_one();  // it rests longer than this one
  resting_.push_back(&me);
  bool too_long = false;
  while (me.work == nullptr && !closing_ && !too_long) {
    me.counts = resting_.back() != &me;
    if (me.counts) {
      too_long = !me.wake.wait_until(mutex_, std::chrono::steady_clock::now() + kLongestRest) && me.work == nullptr &&
                 resting_.back() != &me;
    } else {
      me.wake.wait(mutex_);
    }
  }
  if (me.work != nullptr) return true;
  std::erase(resting_, &me);
  return false;
}

void CallThreads::serve(Worker& me) {
  MutexLock lock(mutex_);
  do {
    std::function<void()> work = std::exchange(me.work, nullptr);
    mutex_.unlock();
    work();
    work = nullptr;
    mutex_.lock();
  } while (rest(me));
  ended_.push_back(&me);
  ended_changed_.notify_all();
}

void CallThreads::join_ended() {
  for (Worker* const worker : ended_) {
    worker->thread.join();  // it holds no lock any more
    workers_.remove_if([&](const Worker& w) { return &w == worker; });
  }
  ended_.clear();
}

}  // namespace argosy::tf
