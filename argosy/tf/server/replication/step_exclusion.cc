#include "argosy/tf/server/replication/step_exclusion.h"

namespace argosy::tf {

Turns::Beside Turns::enter(bool writes) {
  MutexLock lock(mutex_);
  while (alone_) changed_.wait(mutex_);
  ++(writes ? writers_ : others_);
  return {this, writes};
}

void Turns::leave(bool writes) {
  MutexLock lock(mutex_);
  --(writes ? writers_ : others_);
}

bool Turns::try_alone(bool all) {
  MutexLock lock(mutex_);
  if (alone_ || writers_ > 0 || (all && others_ > 0)) return false;
  alone_ = true;
  return true;
}

void Turns::leave_alone() {
  MutexLock lock(mutex_);
  alone_ = false;
  changed_.notify_all();
}

}  // namespace argosy::tf
