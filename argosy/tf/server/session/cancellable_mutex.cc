#include "argosy/tf/server/session/cancellable_mutex.h"

#include "argosy/base/threads/cancel_link.h"

namespace argosy::tf {

CancellableMutex::Lock::~Lock() {
  if (!taken_) return;
  MutexLock lock(owner_.mutex_);
  owner_.taken_ = false;
  owner_.changed_.notify_all();
}

Status CancellableMutex::Lock::acquire(Cancellation& cancellation) {
  const CancelLink wakes(&cancellation, [this] {
    MutexLock lock(owner_.mutex_);
    owner_.changed_.notify_all();
  });
  MutexLock lock(owner_.mutex_);
  while (owner_.taken_ && !cancellation.cancelled()) owner_.changed_.wait(owner_.mutex_);
  if (cancellation.cancelled()) return cancellation.status();
  taken_ = owner_.taken_ = true;
  return ok_status();
}

}  // namespace argosy::tf
