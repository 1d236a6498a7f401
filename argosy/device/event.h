// The state behind an Event. The stream that recorded the event sets it once, for ever. A backend with native events
// derives its own state. Thread-safe.
#pragma once

#include <atomic>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"

namespace argosy {

class Event::State {
 public:
  virtual ~State() = default;
  virtual bool reached() const { return reached_.load(std::memory_order_acquire); }
  // Blocks the calling thread: it spins first, then sleeps. It always returns, because a stream finishes its queue
  // before it ends.
  virtual void wait();
  // Called once, by the stream.
  void reach();

 private:
  std::atomic<bool> reached_{false};
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace argosy
