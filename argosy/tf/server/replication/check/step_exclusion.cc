#include "argosy/tf/server/replication/check/step_exclusion.h"

#include "argosy/base/threads/cancel_link.h"

namespace argosy::tf {

Result<StepExclusion::Shared> StepExclusion::enter(bool writes, Cancellation* cancellation) {
  const CancelLink wakes(cancellation, [this] {
    MutexLock lock(mutex_);
    changed_.notify_all();
  });
  const auto ended = [&] { return cancellation != nullptr && cancellation->cancelled(); };
  MutexLock lock(mutex_);
  while (exclusive_ && !ended()) changed_.wait(mutex_);
  if (exclusive_) return cancellation->status();
  ++(writes ? writers_ : others_);
  return Shared(this, writes);
}

void StepExclusion::leave(bool writes) {
  MutexLock lock(mutex_);
  --(writes ? writers_ : others_);
}

std::optional<StepExclusion::Exclusive> StepExclusion::try_exclusive(bool all) {
  MutexLock lock(mutex_);
  if (exclusive_ || writers_ > 0 || (all && others_ > 0)) return std::nullopt;
  exclusive_ = true;
  return Exclusive(this);
}

void StepExclusion::leave_exclusive() {
  MutexLock lock(mutex_);
  exclusive_ = false;
  changed_.notify_all();
}

}  // namespace argosy::tf
