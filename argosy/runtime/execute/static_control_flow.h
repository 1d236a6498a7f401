// StaticControlFlow: branches and loops in a static schedule. A value that the run does not take is dead: a flag of
// RunState::dead says so, and instructions that depend on it are passed over.
//
//   kSwitch     its untaken output is dead.
//   kMerge      forwards its first live input; dead when all inputs are.
//   kForward    Enter, Exit, NextIteration: forwards its input.
//   kLoopBegin  the first iteration begins, or the loop is skipped.
//   kLoopEnd    back to the begin, or on.
//
// Used by one device's thread: a loop lies on one device, and flags are set before their readers are woken.
#pragma once

#include <algorithm>
#include <vector>

#include "argosy/runtime/execute/static_run.h"

namespace argosy {

class StaticControlFlow {
 public:
  explicit StaticControlFlow(StaticRun& run) : run_(run), step_(run.step()), state_(run.state()) {}

  bool is_dead(std::int32_t flag) const { return flag >= 0 && state_.dead[static_cast<std::size_t>(flag)] != 0; }

  // For an instruction that may be dead, but a Merge: notes whether it is.
  bool note_dead(std::int32_t index, const InstructionMeta& meta) {
    const bool dead =
        std::any_of(meta.dead_flags.begin(), meta.dead_flags.end(), [&](std::int32_t flag) { return is_dead(flag); });
    set_dead(index, dead);
    return dead;
  }
  // A dead instruction: its outputs are dead, and what it would let go of goes.
  void pass_over(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta);

  // INVALID_ARGUMENT, from the kernel, where the predicate is no scalar bool.
  Status run_switch(const Instruction& instruction, const InstructionMeta& meta, KernelContext::Fields& fields);
  // At the head of a loop the first live input is one from outside in the first iteration, and one from the iteration
  // before in later ones.
  Status run_merge(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta);
  // Slot `to` gets input `input`: moved where nobody reads the input afterwards, else shared.
  void forward_input(const Instruction& instruction, const InstructionMeta& meta, int input, std::int32_t to) {
    Tensor& from = state_.tensors[step_.input_slots[instruction.first_input + input]];
    if ((meta.moved_inputs >> input & 1) != 0) {
      state_.tensors[to] = std::move(from);
    } else {
      state_.tensors[to] = from;
    }
  }

  // `at`: the position in the device's order. A loop of which every Enter is dead is skipped.
  void begin_loop(const Loop& loop, std::int32_t frame, std::size_t& at);
  // True: there is another iteration, and `at` is back at the loop's begin.
  bool goes_on(const Loop& loop, std::int32_t frame, std::size_t& at);

 private:
  void set_dead(std::int32_t index, bool dead) {
    state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
  }

  StaticRun& run_;
  const Step& step_;
  RunState& state_;
};

}  // namespace argosy
