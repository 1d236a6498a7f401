// GroupBackend: carries out collectives for ranks whose tensors are not in host memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/spanning_backend.h"
#include "argosy/comm/step_abort.h"

namespace argosy {

// A rank's call, on copies of its tensors in host memory.
class StagedCall {
 public:
  virtual ~StagedCall() = default;
  virtual const CollectiveCall& call() const = 0;
  // Copies the results to the rank's own memory, and waits for the copies.
  virtual Status bring_back() const = 0;
};

class GroupBackend {
 public:
  virtual ~GroupBackend() = default;
  // Copies the tensors that the call reads, after its `ready`, and waits for the copies. The call must outlive the
  // result.
  virtual Result<std::unique_ptr<StagedCall>> copy_to_host(const CollectiveCall& call) {
    return unimplemented(call.describe(), ": from memory that the host does not reach").with_id("ARG-COMM-026");
  }
  // Returns a backend for these ranks together with other tasks'; null: there is none for their devices. `calls`: those
  // of this task's ranks.
  virtual std::unique_ptr<SpanningBackend> over_tasks(std::span<const CollectiveCall> calls,
                                                      const SpanningRanks& ranks) {
    (void)calls, (void)ranks;
    return nullptr;
  }
  // Starts one collective. `calls` has the calls of all ranks, by rank, or a message's: the sender's, then the
  // receiver's. The work begins after `ready` of every call. Returns an event for each call: after it the backend does
  // not use that rank's tensors any more. The host waits for nothing, unless a rank's tensors are in host memory or
  // GPUs have no peer access. If the work does not end, the backend calls `step_abort`, which may be null. Thread-safe.
  virtual Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                           const std::shared_ptr<StepAbort>& step_abort) = 0;
};

}  // namespace argosy
