#include "argosy/base/threads/timers.h"

#include <system_error>

#include "argosy/base/guard.h"

namespace argosy {

Alarms::~Alarms() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    thread = std::move(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

Result<Alarms::Token> Alarms::set(Time when, std::function<void()> ring) {
  MutexLock lock(mutex_);
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& e) {
    return resource_exhausted("no thread for an alarm: ", e.what()).with_id("ARG-THREAD-001");
  }
  const Token token = next_++;
  alarms_.emplace(std::pair(when, token), std::move(ring));
  changed_.notify_all();
  return token;
}

void Alarms::drop(Token token) {
  std::function<void()> last;  // what it holds goes without the lock
  MutexLock lock(mutex_);
  for (auto a = alarms_.begin(); a != alarms_.end(); ++a) {
    if (a->first.second != token) continue;
    last = std::move(a->second);
    alarms_.erase(a);
    return;
  }
  while (ringing_ == token && watcher_ != std::this_thread::get_id()) changed_.wait(mutex_);
}

void Alarms::watch() {
  mutex_.lock();
  watcher_ = std::this_thread::get_id();
  while (!closing_) {
    if (alarms_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto first = alarms_.begin();
    const Time when = first->first.first;
    if (std::chrono::steady_clock::now() < when) {
      changed_.wait_until(mutex_, when);
      continue;
    }
    {
      const std::function<void()> ring = std::move(first->second);
      ringing_ = first->first.second;
      alarms_.erase(first);
      mutex_.unlock();
      contained("an alarm", ring);
    }
    mutex_.lock();
    ringing_ = 0;
    changed_.notify_all();
  }
  mutex_.unlock();
}

}  // namespace argosy
