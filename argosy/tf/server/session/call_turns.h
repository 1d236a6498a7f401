// CallTurns: a mutex for calls. Waiting for it ends when the call is cancelled. Thread-safe.
#pragma once

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

class CallTurns {
 public:
  // The lock of one call, held from take() to destruction.
  class Turn {
   public:
    explicit Turn(CallTurns& turns) : turns_(turns) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Waits until no other call holds it. Returns the cancellation's status if that comes first. REQUIRES: called once.
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
