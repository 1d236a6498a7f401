// StepAbort: how whoever watches a collective fails the step that waits for it, as long as that step is there.
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
