// EntryRunner: runs the instructions of a dataflow run, one entry at a time on each device's thread.
#pragma once

#include "argosy/runtime/execute/dataflow/entry_devices.h"
#include "argosy/runtime/execute/dataflow/entry_queues.h"

namespace argosy {

class EntryRunner {
 public:
  // All outlive it.
  EntryRunner(const Step& step, RunState& state, RunContext& context, EntryQueues& queues)
      : step_(step), state_(state), context_(context), queues_(queues), devices_(step, context, queues) {}

  // Runs the entry in `running`; one with `runs` unset ends at once. An error fails the run. True: it has ended, and
  // the caller must settle it. False: it runs asynchronously, `running` does not hold it any more, and its end settles
  // it. Called by the thread of the entry's device.
  bool execute(RunningEntry& running);

  // As EntryDevices::finish().
  void finish_devices() { devices_.finish(); }

 private:
  bool execute_unguarded(RunningEntry& running);
  bool complete(RunningEntry& running, Status status);
  // Describes the outputs of the entry, for StepStats::keep_outputs.
  Status record(RunningEntry& running);
  Status dereference(RunningEntry& running);
  StepContext* step_context(RunningEntry& running, const Instruction& instruction);
  KernelContext::Fields fields_of(RunningEntry& running, Device& device);
  Status run_kernel(RunningEntry& running, Device& device, KernelContext& kernel_context);
  bool start_async(RunningEntry& running, Device& device, const KernelContext& kernel_context);

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  EntryQueues& queues_;
  EntryDevices devices_;
};

}  // namespace argosy
