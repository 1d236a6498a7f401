#include "argosy/tf/server/replication/check/step_exclusion.h"

namespace argosy::tf {

StepExclusion::Shared StepExclusion::enter(bool writes) {
  MutexLock lock(mutex_);
  while (exclusive_) changed_.wait(mutex_);
  ++(writes ? writers_ : others_);
  return {this, writes};
}

void StepExclusion::leave(bool writes) {
  MutexLock lock(mutex_);
  --(writes ? writers_ : others_);
}

bool StepExclusion::try_exclusive(bool all) {
  MutexLock lock(mutex_);
  if (exclusive_ || writers_ > 0 || (all && others_ > 0)) return false;
  exclusive_ = true;
  return true;
}

void StepExclusion::leave_exclusive() {
  MutexLock lock(mutex_);
  exclusive_ = false;
  changed_.notify_all();
}

}  // namespace argosy::tf
