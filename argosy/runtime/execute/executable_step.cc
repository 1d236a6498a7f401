#include "argosy/runtime/execute/executable_step.h"

#include "argosy/base/guard.h"
#include "argosy/runtime/execute/executor.h"

namespace argosy {

Result<std::unique_ptr<RunState>> ExecutableStep::take() {
  std::unique_ptr<RunState> state(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!state) {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      state = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!state) state = make_run_state(*step_);
  ARGOSY_RETURN_IF_ERROR(borrow_arenas(*step_, *state));
  return state;
}

void ExecutableStep::give_back(std::unique_ptr<RunState> state) {
  return_arenas(*step_, *state);
  RunState* none = nullptr;
  if (spare_.compare_exchange_strong(none, state.get(), std::memory_order_release, std::memory_order_relaxed)) {
    (void)state.release();
    return;
  }
  // Where there is no memory to keep it, the next run makes another.
  contained("keeping a step's memory", [&] {
    MutexLock lock(mutex_);
    idle_.push_back(std::move(state));
  });
}

Status ExecutableStep::run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context) {
  if (remote_ == nullptr) [[likely]]
    return run_own(feeds, fetches, context);
  return remote_->run(feeds, fetches, context,
                      [this](std::span<const Tensor> own_feeds, std::span<Tensor> own_fetches, RunContext& own) {
                        return run_own(own_feeds, own_fetches, own);
                      });
}

Status ExecutableStep::run_own(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context) {
  ARGOSY_ASSIGN_OR_RETURN(auto state, take());
  context.set_files(step_->device_set->files());
  context.set_host_callbacks(step_->device_set->host_callbacks());
  context.set_running(*step_, state->running.get());
  Status status = guarded([&] { return find_handles(*step_, *state, context); });
  if (status.ok()) {
    status = step_->needs_dataflow ? run_dataflow(*step_, *state, feeds, fetches, context)
                                   : run_static(*step_, *state, feeds, fetches, context);
  }
  give_back(std::move(state));
  return status;
}

}  // namespace argosy
