// SpanningGroup: this task's ranks of a group whose other ranks are other tasks'.
//
//   rank 2 ──┐ local ranks meet;       NetGroup: all tasks         results, and every local
//   rank 3 ──┴► the last to come  ───► combine and exchange  ───►  rank's `done`
//
// Two levels: of one host only the sums of its devices travel. Tensors of GPUs are copied to the host's memory first, and
// the results back; those of emulated GPUs are there already.
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
  std::uint32_t tag = 0;    // below 2^29; the same on all tasks, of no other group at this time
  Cancellation* cancellation =
      nullptr;  // the step's: its reason aborts the network's group, too. Outlives this. May be null
};

// Thread-safe. Each rank makes its collectives in order, one at a time. After an error the group is of no more use.
class SpanningGroup {
 public:
  // `net` outlives every call. REQUIRES: here >= 1.
  SpanningGroup(std::shared_ptr<NetGroup> net, const SpanningOptions& options);
  // Calls that still gather end with an error.
  ~SpanningGroup();

  int size() const;
  // As Communicator::start(). `rank` is one of this task's. `backend`: of the memory of the call's tensors, on the call's
  // device; null: they are in the host's.
  void start(int rank, const CollectiveCall& call, Communicator::Done done, GroupBackend* backend = nullptr);

 private:
  struct State;
  const std::shared_ptr<State> state_;
  CancelLink cancelled_;
};

}  // namespace argosy
