// RemoteParts: the parts of a step that other tasks run. ExecutableStep::run() calls it for a step that has them.
// Implemented by argosy/runtime/tasks/partitioned_step.h.
#pragma once

#include <functional>
#include <span>

#include "argosy/runtime/execute/run_context.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Thread-safe: many runs at once.
class RemoteParts {
 public:
  // Runs this task's own part: feeds and fetches of that part.
  using OwnRun = std::function<Status(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context)>;

  virtual ~RemoteParts() = default;
  // Runs all parts once, with feeds and fetches of the whole step. Returns when all have ended, with the first error of
  // any of them.
  virtual Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context,
                     const OwnRun& own) = 0;
};

}  // namespace argosy
