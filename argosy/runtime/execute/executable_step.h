// ExecutableStep: a compiled step with the run states that are idle between its runs. Caches of compiled steps hold
// these. Thread-safe: any number of runs at once.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/remote_parts.h"
#include "argosy/runtime/execute/run_context.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

class ExecutableStep {
 public:
  // `reserved`: the step's share of the host's memory budget. `remote`: the parts of other tasks; null: there are none.
  // `collective_key`: see collective_key().
  explicit ExecutableStep(std::shared_ptr<const Step> step, HostBudget::Reservation reserved = {},
                          std::unique_ptr<RemoteParts> remote = nullptr,
                          std::optional<std::int64_t> collective_key = {})
      : step_(std::move(step)),
        reserved_(std::move(reserved)),
        remote_(std::move(remote)),
        collective_key_(collective_key) {}
  ~ExecutableStep() { delete spare_.load(std::memory_order_acquire); }
  ExecutableStep(const ExecutableStep&) = delete;
  ExecutableStep& operator=(const ExecutableStep&) = delete;
  const Step& step() const { return *step_; }
  // The key that its collectives share with those of other tasks' steps. Runs of all these steps have the same step id.
  // Unset: no collective meets those of another task's step.
  std::optional<std::int64_t> collective_key() const { return collective_key_; }

  // Runs the step once, on the executor that it needs: see argosy/runtime/execute/executor.h. RESOURCE_EXHAUSTED when a
  // device has no room for its arena.
  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context);

 private:
  Status run_own(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context);
  Result<std::unique_ptr<RunState>> take();
  void give_back(std::unique_ptr<RunState> state);

  const std::shared_ptr<const Step> step_;
  const HostBudget::Reservation reserved_;
  const std::unique_ptr<RemoteParts> remote_;
  const std::optional<std::int64_t> collective_key_;
  // One idle state, owned, which is taken and put back without a lock; the others are in idle_.
  std::atomic<RunState*> spare_{nullptr};
  Mutex mutex_;
  std::vector<std::unique_ptr<RunState>> idle_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
