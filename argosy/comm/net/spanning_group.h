// SpanningGroup: this task's ranks of a group that spans tasks.
//
//   rank 2 ──┐ local ranks meet;       NetGroup: all tasks         results, and every local
//   rank 3 ──┴► the last to come  ───► combine and exchange  ───►  rank's `done`
//
// It works on two levels: a task combines its devices' values first, and sends only the sums. Tensors of GPUs are
// copied to host memory first, and the results back. Tensors of emulated GPUs are in host memory already. Sums of GPUs
// go by NCCL instead, where all tasks want it and have it (direct_sums.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"
#include "argosy/comm/net/net_group.h"

namespace argosy {

struct SpanningOptions {
  int size = 1;             // ranks in all
  int first = 0, here = 1;  // this task's are [first, first + here)
  std::uint32_t tag = 0;    // below 2^29; equal on all tasks, and unique among live groups
  Cancellation* cancellation =
      nullptr;  // the step's: its reason aborts the network's group, too. Outlives this. May be null
};

// Thread-safe. Each rank makes its collectives in order, one at a time. After an error the group is unusable.
class SpanningGroup {
 public:
  // `net` outlives every call. REQUIRES: here >= 1.
  SpanningGroup(std::shared_ptr<NetGroup> net, const SpanningOptions& options);
  // Ends calls that still wait for local ranks with an error.
  ~SpanningGroup();

  int size() const;
  // As Communicator::start(). `rank` is one of this task's. `backend` serves the memory of the call's tensors; null:
  // they are in host memory.
  void start(int rank, const CollectiveCall& call, Communicator::Done done, GroupBackend* backend = nullptr);

 private:
  struct State;
  const std::shared_ptr<State> state_;
  CancelLink cancelled_;
};

}  // namespace argosy
