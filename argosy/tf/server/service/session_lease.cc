#include "argosy/tf/server/service/session_lease.h"

#include <algorithm>

#include "argosy/base/clock.h"

namespace argosy::tf {

SessionLease::Use::Use(SessionLease& lease) : lease_(lease) { lease_.busy_.fetch_add(1, std::memory_order_relaxed); }

SessionLease::Use::~Use() {
  lease_.last_end_.store(now_nanos(), std::memory_order_relaxed);
  lease_.busy_.fetch_sub(1, std::memory_order_relaxed);
}

SessionLease::SessionLease() : last_end_(now_nanos()) {}

void SessionLease::opened_by(std::shared_ptr<const ClientLink> client) {
  MutexLock lock(mutex_);
  client_ = std::move(client);
}

void SessionLease::called_by(CallContext& call) {
  MutexLock lock(mutex_);
  if (client_ != nullptr && client_->gone_at() == 0) return;
  if (auto client = call.client(); client != nullptr) client_ = std::move(client);
}

bool SessionLease::orphaned(std::chrono::nanoseconds lease) const {
  // Below the 30 minutes of gRPC's clients: other sessions may have used the connection meanwhile.
  constexpr std::chrono::nanoseconds kIdle = std::chrono::minutes(25), kDay = std::chrono::hours(24);
  std::int64_t gone_at = 0;
  {
    MutexLock lock(mutex_);
    if (client_ != nullptr) gone_at = client_->gone_at();
  }
  if (gone_at == 0 || busy_.load(std::memory_order_relaxed) > 0) return false;
  const std::int64_t last_end = last_end_.load(std::memory_order_relaxed);
  if (gone_at - last_end > kIdle.count()) lease = std::max(lease, kDay);
  return now_nanos() - std::max(gone_at, last_end) > lease.count();
}

std::chrono::nanoseconds SessionLease::idle() const {
  if (busy_.load(std::memory_order_relaxed) > 0) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(now_nanos() - last_end_.load(std::memory_order_relaxed));
}

}  // namespace argosy::tf
