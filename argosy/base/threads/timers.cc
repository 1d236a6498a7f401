#include "argosy/base/threads/timers.h"

#include <system_error>

#include "argosy/base/guard.h"

namespace argosy {

Timers::~Timers() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    thread = std::move(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

Result<Timers::Token> Timers::set(Time when, std::function<void()> callback) {
  MutexLock lock(mutex_);
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& e) {
    return resource_exhausted("no thread for a timer: ", e.what()).with_id("ARG-THREAD-001");
  }
  const Token token = next_++;
  timers_.emplace(std::pair(when, token), std::move(callback));
  changed_.notify_all();
  return token;
}

void Timers::cancel(Token token) {
  std::function<void()> last;  // what it holds goes without the lock
  MutexLock lock(mutex_);
  for (auto a = timers_.begin(); a != timers_.end(); ++a) {
    if (a->first.second != token) continue;
    last = std::move(a->second);
    timers_.erase(a);
    return;
  }
  while (running_ == token && watcher_ != std::this_thread::get_id()) changed_.wait(mutex_);
}

void Timers::watch() {
  mutex_.lock();
  watcher_ = std::this_thread::get_id();
  while (!closing_) {
    if (timers_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto first = timers_.begin();
    const Time when = first->first.first;
    if (std::chrono::steady_clock::now() < when) {
      changed_.wait_until(mutex_, when);
      continue;
    }
    {
      const std::function<void()> callback = std::move(first->second);
      running_ = first->first.second;
      timers_.erase(first);
      mutex_.unlock();
      contained("a timer", callback);
    }
    mutex_.lock();
    running_ = 0;
    changed_.notify_all();
  }
  mutex_.unlock();
}

}  // namespace argosy
