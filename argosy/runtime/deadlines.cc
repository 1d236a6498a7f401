#include "argosy/runtime/deadlines.h"

namespace argosy {

Deadlines::~Deadlines() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    thread = std::move(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

Deadlines::Token Deadlines::add(Time when, Cancellation& cancellation, std::string what) {
  MutexLock lock(mutex_);
  const Token token = next_++;
  entries_.emplace(when, Entry{token, &cancellation, std::move(what)});
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  changed_.notify_all();
  return token;
}

void Deadlines::remove(Token token) {
  MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const auto& e) { return e.second.token == token; });
  while (firing_ == token) changed_.wait(mutex_);
}

void Deadlines::watch() {
  MutexLock lock(mutex_);
  while (!closing_) {
    if (entries_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto first = entries_.begin();
    if (std::chrono::steady_clock::now() < first->first) {
      changed_.wait_until(mutex_, first->first);
      continue;
    }
    const Entry entry = first->second;
    entries_.erase(first);
    firing_ = entry.token;
    mutex_.unlock();
    entry.cancellation->cancel(deadline_exceeded(entry.what).with_id("ARG-DEADLINE-001"));
    mutex_.lock();
    firing_ = 0;
    changed_.notify_all();
  }
}

}  // namespace argosy
