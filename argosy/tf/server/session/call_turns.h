// CallTurns: calls that go one after the other. One that waits ends with its cancellation. Thread-safe.
#pragma once

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

class CallTurns {
 public:
  // Of one call, until it is destroyed.
  class Turn {
   public:
    explicit Turn(CallTurns& turns) : turns_(turns) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Waits until no other call has its turn. The reason of the cancellation, if that comes first. REQUIRES: once.
    Status take(Cancellation& cancellation);

   private:
    CallTurns& turns_;
    bool taken_ = false;
  };

 private:
  Mutex mutex_;
  CondVar changed_;
  bool taken_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
