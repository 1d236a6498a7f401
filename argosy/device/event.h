// What an Event points to: reached once, for ever, by the stream that recorded it. Backends with events of their own
// derive from it. Thread-safe.
#pragma once

#include <atomic>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"

namespace argosy {

class Event::State {
 public:
  virtual ~State() = default;
  virtual bool reached() const { return reached_.load(std::memory_order_acquire); }
  // The calling thread waits, first awake, then asleep. It always ends: a stream that goes away finishes its queue.
  virtual void wait();
  // Called once, by the stream.
  void reach();

 private:
  std::atomic<bool> reached_{false};
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace argosy
