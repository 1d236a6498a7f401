// GroupBackend: who does collectives for ranks whose memory is not the host's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/step_abort.h"

namespace argosy {

// A rank's call on copies of its tensors in the host's memory.
class StagedCall {
 public:
  virtual ~StagedCall() = default;
  virtual const CollectiveCall& call() const = 0;
  // The results, to the rank's own memory. Waits until they are there.
  virtual Status bring_back() const = 0;
};

class GroupBackend {
 public:
  virtual ~GroupBackend() = default;
  // Copies what the call reads, once its `ready` is reached; waits for that. The call outlives the result.
  virtual Result<std::unique_ptr<StagedCall>> copy_to_host(const CollectiveCall& call) {
    return unimplemented(call.describe(), ": from memory that the host does not reach").with_id("ARG-COMM-026");
  }
  // Starts what the calls of all ranks, by rank, ask for, or a message: the sender's call and the receiver's. Each begins
  // after every call's `ready`. The events, by call: once reached nobody touches that rank's tensors any more. Waits
  // for nothing on the host, but where a rank's memory is the host's or GPUs do not reach each other. `step_abort`, which
  // may be null, is called for what was started and does not end. Thread-safe.
  virtual Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                           const std::shared_ptr<StepAbort>& step_abort) = 0;
};

}  // namespace argosy
