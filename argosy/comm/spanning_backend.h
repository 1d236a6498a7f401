// SpanningBackend: sums of one task's GPUs together with those of other tasks, without copies in host memory. Made by
// GroupBackend::over_tasks(); comm/net/direct_sums.h asks it in an order that all tasks have agreed on.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/step_abort.h"

namespace argosy {

// This task's ranks of a group that spans tasks: [first, first + here) of `size`.
struct SpanningRanks {
  int size = 1;
  int first = 0, here = 1;
  std::chrono::nanoseconds patience{0};  // how long a sum may wait for slow tasks
};

class SpanningBackend {
 public:
  virtual ~SpanningBackend() = default;
  // What this task brings, for the other tasks' connect(). Not empty.
  virtual std::string offer() = 0;
  // Connects the tasks, all of which call it with the offers of all, by task. ARG-COMM-006: it cannot be; the reason. It
  // logs a warning where this task wanted it.
  virtual Status connect(std::span<const std::string> offers) = 0;
  // True if the calls' ranks are on the devices that are connected.
  virtual bool is_of(std::span<const CollectiveCall> calls) const = 0;
  // True if it can carry out the calls. The same on all tasks.
  virtual bool takes(std::span<const CollectiveCall> calls) const = 0;
  // As GroupBackend::start(), for the calls of this task's ranks, by rank. All tasks make the same calls in one order.
  virtual Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                           const std::shared_ptr<StepAbort>& step_abort) = 0;
  // Ends what was started, also where another task never comes. Later calls fail. From any thread.
  virtual void abort(const Status& cause) = 0;
  // "NCCL 2.28.9": for people.
  virtual std::string describe() const = 0;
};

}  // namespace argosy
