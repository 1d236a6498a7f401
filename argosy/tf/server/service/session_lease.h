// SessionLease: when a session was last used, and whether its client is still there. Thread-safe.
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
  // One call under way, from construction to destruction.
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

  // Records whose call made the session: asked for when the call began, for the client may leave while it is made. Null:
  // its transport does not know.
  void opened_by(std::shared_ptr<const ClientLink> client) ARGOSY_EXCLUDES(mutex_);
  // Records who makes a call. A connection that is over is replaced by the next caller's.
  void called_by(CallContext& call) ARGOSY_EXCLUDES(mutex_);
  // Time since the last call ended; zero while one is under way.
  std::chrono::nanoseconds idle() const;
  // True if the client has been gone for `lease` and no call is under way. gRPC's clients close a connection that was
  // idle for 30 minutes, and make a new one for the next call: such a client gets a day.
  bool orphaned(std::chrono::nanoseconds lease) const ARGOSY_EXCLUDES(mutex_);

 private:
  std::atomic<int> busy_{0};
  std::atomic<std::int64_t> last_end_;  // now_nanos() when the last call ended
  mutable Mutex mutex_;
  std::shared_ptr<const ClientLink> client_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
