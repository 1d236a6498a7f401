// CancellableMutex: a mutex for calls. Waiting for it ends when the call is cancelled. Thread-safe.
#pragma once

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

class CancellableMutex {
 public:
  // The lock of one call, held from acquire() to destruction.
  class Lock {
   public:
    explicit Lock(CancellableMutex& owner) : owner_(owner) {}
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    // Waits until no other call holds it. Returns the cancellation's status if that comes first. REQUIRES: called once.
    Status acquire(Cancellation& cancellation);

   private:
    CancellableMutex& owner_;
    bool taken_ = false;
  };

 private:
  Mutex mutex_;
  CondVar changed_;
  bool taken_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::tf
