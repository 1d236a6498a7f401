// SessionLease: tracks when a session was last used, and whether its client is still connected. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "argosy/base/mutex.h"
#include "argosy/rpc/transport/call_context.h"

namespace argosy::tf {

class SessionLease {
 public:
  // Marks the session as in use by one call, from construction to destruction.
  class Use {
   public:
    explicit Use(SessionLease& lease);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    SessionLease& lease_;
  };

  SessionLease();

  // Records the client that created the session. Its link must be obtained when the call begins, because the client may
  // leave while the session is made. Null: the transport does not know it.
  void opened_by(std::shared_ptr<const ClientLink> client) ARGOSY_EXCLUDES(mutex_);
  // Records the client of a call, if the recorded connection has ended.
  void called_by(CallContext& call) ARGOSY_EXCLUDES(mutex_);
  // Returns how many calls use the session now.
  int running_calls() const { return busy_.load(std::memory_order_relaxed); }
  // Returns the time since the last call ended; zero while one is running.
  std::chrono::nanoseconds idle() const;
  // True if the client has been gone for `lease` and no call is running. The lease is at least a day if the connection
  // had been idle for 25 minutes: gRPC's clients close one after 30 idle minutes, and open another for the next call.
  bool orphaned(std::chrono::nanoseconds lease) const ARGOSY_EXCLUDES(mutex_);

 private:
  std::atomic<int> busy_{0};
  std::atomic<std::int64_t> last_end_;  // now_nanos() when the last call ended
  mutable Mutex mutex_;
  std::shared_ptr<const ClientLink> client_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
