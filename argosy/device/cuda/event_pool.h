// EventPool: CUDA events of one context, kept for reuse. Thread-safe.
#pragma once

#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/cuda/driver/driver.h"

namespace argosy::cuda {

class EventPool {
 public:
  // A free event; null: there is none.
  CuEvent take() {
    MutexLock lock(mutex_);
    if (events_.empty()) return nullptr;
    CuEvent event = events_.back();
    events_.pop_back();
    return event;
  }
  void put(CuEvent event) {
    MutexLock lock(mutex_);
    events_.push_back(event);
  }
  // Destroys the free events. REQUIRES: their context is current.
  void destroy(const Driver& driver) {
    MutexLock lock(mutex_);
    for (const CuEvent event : events_) driver->cuEventDestroy_v2(event);
    events_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<CuEvent> events_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
