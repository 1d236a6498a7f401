// RunContext: one run of a step as kernels and executors see it. Lives on the stack of whoever runs the step.
#pragma once

#include <atomic>
#include <memory>

#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/host_callbacks.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/runtime/device_set/stats.h"
#include "argosy/runtime/execute/running_instruction.h"

namespace argosy {

struct Step;

class RunContext final : public StepContext {
 public:
  RunContext(std::int64_t step_id, StepStats* stats, bool fetch_handles = false)
      : step_id_(step_id), stats_(stats), fetch_handles_(fetch_handles) {}

  std::int64_t step_id() const override { return step_id_; }
  // For a step whose collectives meet those of other tasks' steps. REQUIRES: the run has not begun.
  void set_step_id(std::int64_t step_id) { step_id_ = step_id; }
  Cancellation& cancellation() override { return cancellation_; }
  ResourceManager& step_resources() override { return resources_; }

  const FilePolicy* files() const override { return files_.get(); }
  void set_files(std::shared_ptr<const FilePolicy> files) { files_ = std::move(files); }
  HostCallbacks* host_callbacks() const override { return host_callbacks_.get(); }
  void set_host_callbacks(std::shared_ptr<HostCallbacks> calls) { host_callbacks_ = std::move(calls); }

  Rendezvous* rendezvous() const override { return rendezvous_.get(); }
  void set_rendezvous(std::shared_ptr<Rendezvous> rendezvous) { rendezvous_ = std::move(rendezvous); }

  StepStats* stats() const { return stats_; }  // null: not collected
  // A fetched handle of a variable is returned as it is, instead of the variable's value.
  bool fetch_handles() const { return fetch_handles_; }
  // The run keeps the calling thread's thread budget, instead of the device's. For functions that several threads call
  // at once.
  void keep_thread_budget() { keeps_thread_budget_ = true; }
  bool keeps_thread_budget() const { return keeps_thread_budget_; }
  // Kernels add up in the same order whatever the devices' threads (argosy/base/threads/library_threads.h).
  void want_deterministic(bool want) { deterministic_ = want; }
  bool deterministic() const { return deterministic_; }
  // What runs now, for observers on other threads: the step, and by device the instruction whose kernel has the
  // device's thread (-1: none). `step` is null before it is compiled. Both live as long as the context, and are the
  // run's until it ends.
  struct Running {
    const Step* step = nullptr;
    const RunningInstruction* instructions = nullptr;
  };
  void set_running(const Step& step, const RunningInstruction* instructions) {
    instructions_.store(instructions, std::memory_order_relaxed);
    running_.store(&step, std::memory_order_release);
  }
  Running running() const {
    const Step* const step = running_.load(std::memory_order_acquire);
    return {step, instructions_.load(std::memory_order_relaxed)};
  }

 private:
  std::int64_t step_id_;
  StepStats* const stats_;
  const bool fetch_handles_;
  bool keeps_thread_budget_ = false, deterministic_ = false;
  std::shared_ptr<const FilePolicy> files_;
  std::shared_ptr<HostCallbacks> host_callbacks_;
  std::shared_ptr<Rendezvous> rendezvous_;  // null: the step runs on one task
  std::atomic<const Step*> running_{nullptr};
  std::atomic<const RunningInstruction*> instructions_{nullptr};
  Cancellation cancellation_;
  ResourceManager resources_;
};

}  // namespace argosy
