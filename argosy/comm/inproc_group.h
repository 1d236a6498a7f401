// InprocGroup: the communicators of a group whose ranks are devices of one process.
//
// The last rank to arrive starts the collective for all. Late ranks block only threads that made blocking calls.
//
// * All tensors are in host memory: the ranks' threads share the work (shared_memory/). These are the threads in
//   blocking calls, and the communication streams of devices. The last rank's thread does small collectives alone.
// * Some tensors are in other memory: the GroupBackend of that memory does the work.
#pragma once

#include <memory>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"

namespace argosy {

class Timers;
class InprocRendezvous;

struct InprocOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of blocking calls that give none; 0 = no limit

  // Simulated link speed of ranks on no device; devices have their own. A collective takes at least as long as in a
  // ring of such links: all_reduce of S bytes on n ranks at B bytes per second takes 2(n-1)/n S/B. 0 = as fast as
  // memory.
  double link_bytes_per_second = 0;

  // The step's cancellation; may be null. Its reason aborts the group. The group cancels it when a started collective
  // does not end. Must outlive the group.
  Cancellation* cancellation = nullptr;

  // For start() with a time-out. Outlives the group.
  Timers* timers = nullptr;
};

class InprocGroup {
 public:
  // REQUIRES: size >= 1.
  explicit InprocGroup(int size, const InprocOptions& options = {});
  // REQUIRES: no rank is inside a blocking call. A collective that every rank has joined still completes.
  ~InprocGroup();
  InprocGroup(const InprocGroup&) = delete;
  InprocGroup& operator=(const InprocGroup&) = delete;

  int size() const;
  // A rank on no device, with tensors in the host's memory. Owned by the group.
  Communicator& rank(int rank);
  // A rank on a device. `backend` carries out collectives on the device's memory; null: the tensors are in host memory.
  // Device and backend must outlive the communicator. The communicator may outlive this group.
  std::unique_ptr<Communicator> on_device(int rank, Device* device, GroupBackend* backend) const;

  // As Communicator::abort(), for a caller that is no rank.
  void abort(Status cause);
  // Makes an aborted group usable again. FAILED_PRECONDITION while a rank is still inside a blocking call.
  Status reset();

 private:
  const std::shared_ptr<InprocRendezvous> rendezvous_;
  std::vector<std::unique_ptr<Communicator>> ranks_;
  CancelLink cancelled_;
};

}  // namespace argosy
