// ExecutableStep: a step and the run states that are idle between its runs. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/run_context.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

class ExecutableStep {
 public:
  // `reserved`: what the step takes of the host's budget.
  explicit ExecutableStep(std::shared_ptr<const Step> step, HostBudget::Reservation reserved = {})
      : step_(std::move(step)), reserved_(std::move(reserved)) {}
  const Step& step() const { return *step_; }

  // Runs the step once, on the executor that it needs: see argosy/runtime/execute/executor.h.
  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context);

 private:
  Result<std::unique_ptr<RunState>> take();
  void give_back(std::unique_ptr<RunState> state);

  const std::shared_ptr<const Step> step_;
  const HostBudget::Reservation reserved_;
  Mutex mutex_;
  std::vector<std::unique_ptr<RunState>> idle_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
