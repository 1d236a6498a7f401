// StaticRun: what the devices of one run in a static schedule share. It has the first error, the event counts at which their
// threads wait for each other, and what each instruction leaves for the others. Each device's thread walks its own
// order (argosy/runtime/execute/device_walk.h). Lives on the stack of the run's caller.
#pragma once

#include <atomic>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/execute/executor.h"

namespace argosy {

class LaunchQueue;

// Where the inputs, outputs and names of all instructions are. Valid while the step and the state live.
class OperandArrays {
 public:
  OperandArrays(const Step& step, RunState& state)
      : inputs_(state.inputs.data()),
        outputs_(state.outputs.data()),
        output_dtypes_(step.output_dtypes.data()),
        nodes_(step.info.nodes.data()) {}

  // Sets `fields` to the instruction's inputs, outputs and name.
  void point_at(const Instruction& instruction, KernelContext::Fields& fields) const {
    fields.inputs = inputs_ + instruction.first_input;
    fields.num_inputs = instruction.num_inputs;
    fields.outputs = outputs_ + instruction.first_output;
    fields.num_outputs = instruction.num_outputs;
    fields.output_dtypes = output_dtypes_ + instruction.first_dtype;
    fields.node = nodes_[instruction.node].name;
  }

 private:
  const Tensor* const* const inputs_;
  OutputSlot* const outputs_;
  const DType* const output_dtypes_;
  const StepInfo::NodeInfo* const nodes_;
};

class StaticRun {
 public:
  // All outlive it.
  StaticRun(const Step& step, RunState& state, RunContext& context)
      : step_(step), state_(state), context_(context), event_counts_(state.event_counts->of_device) {}
  StaticRun(const StaticRun&) = delete;
  StaticRun& operator=(const StaticRun&) = delete;

  const Step& step() const { return step_; }
  RunState& state() const { return state_; }
  RunContext& context() const { return context_; }

  // Ends the run on every device. The first error counts. From any thread.
  void fail(Status status);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status error();

  // Device d waits until instruction p is done, or the run has failed.
  void wait_for(int d, std::int32_t p) {
    event_counts_[d].wait([&] { return state_.done[p].load(std::memory_order_acquire) == state_.epoch || failed(); });
  }
  // Marks the instruction as done, and wakes the devices that wait for it.
  void signal(std::int32_t index) {
    state_.done[index].store(state_.epoch, std::memory_order_release);
    event_counts_[step_.instructions[index].device].notify();
    for (const std::int32_t d : step_.meta[index].wakes) event_counts_[d].notify();
  }
  // Device d waits until the asynchronous kernels that it started have ended.
  void settle(int d, const std::atomic<int>& asyncs) {
    event_counts_[d].wait([&] { return asyncs.load(std::memory_order_acquire) == 0; });
  }

  // Device d waits for all that the instruction waits for. Returns early, with OK, where the run has failed. `queue`:
  // the device's; null: it is not asynchronous.
  Status wait_for_others(int d, const InstructionMeta& meta, LaunchQueue* queue);
  // REQUIRES: instruction p was started on an asynchronous device. With a queue, its later work comes after p; the host
  // (no queue), and readers of what p brings to the host's memory, wait here.
  Status wait_for_event(std::int32_t p, LaunchQueue* queue);

  // Puts the value of the variable that slot `handle` names into slot `value`.
  Status dereference(std::int32_t handle, std::int32_t value);

  // Sets `fields` to the instruction's inputs and outputs.
  void point_at(const Instruction& instruction, KernelContext::Fields& fields) const {
    OperandArrays(step_, state_).point_at(instruction, fields);
  }

  // Adds an instruction that ran from `start`, in nanoseconds, until now. Where outputs are kept, only list_op() lists
  // an asynchronous one.
  void note_op(StepStats& stats, const Instruction& instruction, std::int64_t start);
  // Lists an instruction that has ended, and its outputs, where StepStats::keep_ops. From any thread.
  void list_op(StepStats& stats, const Instruction& instruction, std::int64_t start, std::int64_t end);

 private:
  std::vector<OutputRecord> outputs_of(const Instruction& instruction) const;

  const Step& step_;
  RunState& state_;
  RunContext& context_;
  std::vector<EventCount>& event_counts_;  // by device
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
