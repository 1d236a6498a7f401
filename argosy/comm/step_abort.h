// StepAbort: lets a watchdog of collectives cancel the step that waits for one, as long as that step lives.
#pragma once

#include "argosy/base/threads/cancellation.h"

namespace argosy {

// Thread-safe.
class StepAbort {
 public:
  explicit StepAbort(Cancellation& step) : step_(&step) {}
  void abort(const Status& cause) {
    MutexLock lock(mutex_);
    if (step_ != nullptr) step_->cancel(cause);
  }
  // The step is over. After it returns abort() does nothing.
  void disarm() {
    MutexLock lock(mutex_);
    step_ = nullptr;
  }

 private:
  Mutex mutex_;
  Cancellation* step_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
