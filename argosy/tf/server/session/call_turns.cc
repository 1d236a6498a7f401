#include "argosy/tf/server/session/call_turns.h"

#include "argosy/base/threads/cancel_link.h"

namespace argosy::tf {

CallTurns::Turn::~Turn() {
  if (!taken_) return;
  MutexLock lock(turns_.mutex_);
  turns_.taken_ = false;
  turns_.changed_.notify_all();
}

Status CallTurns::Turn::take(Cancellation& cancellation) {
  const CancelLink wakes(&cancellation, [this] {
    MutexLock lock(turns_.mutex_);
    turns_.changed_.notify_all();
  });
  MutexLock lock(turns_.mutex_);
  while (turns_.taken_ && !cancellation.cancelled()) turns_.changed_.wait(turns_.mutex_);
  if (cancellation.cancelled()) return cancellation.status();
  taken_ = turns_.taken_ = true;
  return ok_status();
}

}  // namespace argosy::tf
