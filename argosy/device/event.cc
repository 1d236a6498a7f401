#include "argosy/device/event.h"

#include "argosy/base/threads/spin.h"

namespace argosy {

void Event::State::wait() {
  if (spin_until([this] { return reached(); })) return;
  MutexLock lock(mutex_);
  while (!reached_.load(std::memory_order_acquire)) changed_.wait(mutex_);
}

void Event::State::reach() {
  MutexLock lock(mutex_);
  reached_.store(true, std::memory_order_release);
  changed_.notify_all();
}

}  // namespace argosy
