// One run of a step in its static schedule (argosy/runtime/execute/executor.h). Private to the files static_executor*.cc and
// static_executor.cc: the walk along each device's order, what control flow does in it, what devices do for each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "argosy/base/clock.h"
#include "argosy/base/mutex.h"
#include "argosy/device/graph_capturer.h"
#include "argosy/runtime/execute/executor.h"

namespace argosy {

class StaticExecutor {
 public:
  StaticExecutor(const Step& step, RunState& state, RunContext& context)
      : step_(step), state_(state), context_(context), gates_(state.gates->of_device) {}

  Status run(std::span<const Tensor> feeds, std::span<Tensor> fetches);

 private:
  // Phases [from, to) of the orders of all devices but the host's. False: there are none.
  bool launch(int from, int to);

  // All that phase two of other devices waits for: they are not started before. False: the run has failed.
  bool wait_for_phase_two() {
    for (const std::int32_t p : step_.phase_two_dependencies) wait_for(0, p);
    return !failed_.load(std::memory_order_acquire);
  }

  // A wait ends with the run too.
  void wait_for(int d, std::int32_t p) {
    gates_[d].wait([&] {
      return state_.done[p].load(std::memory_order_acquire) == state_.epoch || failed_.load(std::memory_order_acquire);
    });
  }

  Status finish(std::span<Tensor> fetches);

  // Positions [from, to) of the device's order. Throws nothing: what is thrown inside fails the run.
  void drive(int d, std::size_t from, std::size_t to, std::atomic<int>& asyncs);
  void drive_instructions(int d, std::size_t from, std::size_t to, std::atomic<int>& asyncs);
  // Where the next capture region begins; beyond every position where there is none.
  std::size_t next_region(int d, const GraphCapturer* capturer, std::size_t region) const;

  // The value of the variable that slot `handle` names goes to slot `value`.
  Status dereference(std::int32_t handle, std::int32_t value);

  Result<bool> run_region(int d, std::size_t region, GraphCapturer& capturer, KernelContext::Fields& fields);

  void settle(int d, const std::atomic<int>& asyncs) {
    gates_[d].wait([&] { return asyncs.load(std::memory_order_acquire) == 0; });
  }

  void point_at(const Instruction& instruction, KernelContext::Fields& fields) const {
    fields.inputs = state_.inputs.data() + instruction.first_input;
    fields.num_inputs = instruction.num_inputs;
    fields.outputs = state_.outputs.data() + instruction.first_output;
    fields.num_outputs = instruction.num_outputs;
    fields.output_dtypes = step_.output_dtypes.data() + instruction.first_dtype;
    fields.node = step_.nodes[instruction.node].name;
  }

  // `at`: where in the order this is; the ends of a loop change it.
  Status run_special(std::int32_t index, const Instruction& instruction, KernelContext::Fields& fields,
                     KernelObserver* observer, StepStats* stats, std::atomic<int>& asyncs,
                     std::atomic<std::int32_t>& running, std::size_t& at);

  // Instruction p has been started. Who starts work as well comes after it in the order of its own; the host, and whoever
  // reads what p brought into the host's memory, waits here.
  Status wait_for_event(std::int32_t p, LaunchQueue* queue);

  Status run_kernel(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta,
                    KernelContext::Fields& fields, KernelObserver* observer, std::int64_t start,
                    std::atomic<int>& asyncs, std::atomic<std::int32_t>& running);

  Status run_whole(const Instruction& instruction, KernelContext& kernel_context);

  // --- control flow --------------------------------------------------------------------------------------------------

  bool is_dead(std::int32_t flag) const { return flag >= 0 && state_.dead[static_cast<std::size_t>(flag)] != 0; }
  bool any_dead(const std::vector<std::int32_t>& flags) const {
    return std::any_of(flags.begin(), flags.end(), [&](std::int32_t flag) { return is_dead(flag); });
  }

  void pass_over(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta);

  void forward_input(const Instruction& instruction, const InstructionMeta& meta, int input, std::int32_t to);

  Status run_switch(const Instruction& instruction, const InstructionMeta& meta, KernelContext::Fields& fields);

  // The first live input; at the head of a loop, of those that come from outside or from the iteration before.
  Status run_merge(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta);

  // Not entered at all when every Enter is dead.
  void begin_loop(const Loop& loop, std::int32_t frame, std::size_t& at);
  bool goes_on(const Loop& loop, std::int32_t frame, std::size_t& at);

  // --- between devices -----------------------------------------------------------------------------------------------

  void signal(std::int32_t index);

  // Copies are always done when this returns or, when large, are waited for by whoever reads them through done[].
  Status copy(std::int32_t index, const Instruction& instruction, KernelContext::Fields& fields, std::atomic<int>&);

  void start_async(std::int32_t index, const Instruction& instruction, const KernelContext::Fields& fields,
                   std::atomic<int>& asyncs);

  void fail(Status status);

  static void note_wait(StepStats::PerDevice& device, const Instruction& waited_for, std::int64_t since) {
    const std::int64_t nanos = now_nanos() - since;
    (waited_for.async && waited_for.kernel != nullptr ? device.collective_nanos : device.copy_nanos) += nanos;
  }
  void note_op(StepStats& stats, const Instruction& instruction, std::int64_t start);
  static void note_region(StepStats& stats, int d, const CaptureRegion& region, std::int64_t start);

 private:
  const Step& step_;
  RunState& state_;
  RunContext& context_;
  std::vector<Gate>& gates_;  // by device
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  Status error_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
