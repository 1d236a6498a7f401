// InprocGroup: the communicators of a group whose ranks are devices of one process.
//
// The last rank to come starts the collective for all. Ranks that are late keep no thread waiting, unless it made a
// blocking call. Where every rank's memory is the host's, the ranks' threads share the work (shared_memory/): those that
// wait in blocking calls, and the communication streams of devices. Small collectives are done by the last rank's
// thread alone. Where some memory is not the host's, its GroupBackend does the work.
#pragma once

#include <memory>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"

namespace argosy {

class Timers;
class InprocRendezvous;

struct InprocOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of calls that give none; 0 = none

  // Of ranks on no device; devices say their own. A collective takes at least as long as in a ring of such links. For
  // all_reduce of S bytes on n ranks at B bytes per second that is 2(n-1)/n S/B. 0 = as fast as memory.
  double link_bytes_per_second = 0;

  // The step's. Its reason aborts the group. It is cancelled where something that was started does not end. Outlives the
  // group. May be null.
  Cancellation* cancellation = nullptr;

  // For start() with a time-out. Outlives the group.
  Timers* timers = nullptr;
};

class InprocGroup {
 public:
  // REQUIRES: size >= 1.
  explicit InprocGroup(int size, const InprocOptions& options = {});
  // No rank may be inside a blocking call. A collective that every rank has joined goes on.
  ~InprocGroup();
  InprocGroup(const InprocGroup&) = delete;
  InprocGroup& operator=(const InprocGroup&) = delete;

  int size() const;
  // A rank on no device, with tensors in the host's memory. Owned by the group.
  Communicator& rank(int rank);
  // A rank on a device. `backend` does collectives on the device's memory; null: the tensors are in the host's memory.
  // Both outlive the communicator, which may outlive this.
  std::unique_ptr<Communicator> on_device(int rank, Device* device, GroupBackend* backend) const;

  // As Communicator::abort, from outside.
  void abort(Status cause);
  // Makes an aborted group usable again. FAILED_PRECONDITION while a rank is still inside a blocking call.
  Status reset();

 private:
  const std::shared_ptr<InprocRendezvous> rendezvous_;
  std::vector<std::unique_ptr<Communicator>> ranks_;
  CancelLink cancelled_;
};

}  // namespace argosy
