// InterruptibleCalls: the calls of a session that are busy outside Session::run: they convert nodes and functions, or wait for
// their turn in a partial run. close() cancels them. Thread-safe.
#pragma once

#include <set>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"
#include "argosy/base/threads/interrupt.h"

namespace argosy::tf {

class InterruptibleCalls {
 public:
  // One call, from enter() to destruction. While it lives, its cancellation interrupts conversions on this thread.
  class Call {
   public:
    // Both outlive it.
    Call(InterruptibleCalls& calls, Cancellation& cancellation)
        : calls_(calls), cancellation_(cancellation), interrupts_(&cancellation, /*between_blocks=*/false) {}
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Registers the call. CANCELLED "ARG-RUN-002": the session is closed. REQUIRES: called once, before the work.
    Status enter();

   private:
    InterruptibleCalls& calls_;
    Cancellation& cancellation_;
    const InterruptScope interrupts_;
  };

  // Cancels every call (CANCELLED "ARG-RUN-002"); no call enters from now on. Does not wait.
  void close() ARGOSY_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::multiset<Cancellation*> calls_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
