// StaticControlFlow: branches and loops in a static schedule. A value that the run does not take is dead: a flag of
// RunState::dead says so, and instructions that depend on it are skipped.
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

  // `flag` below 0: never dead.
  bool is_dead(std::int32_t flag) const { return flag >= 0 && state_.dead[static_cast<std::size_t>(flag)] != 0; }

  // Records whether an instruction is dead, and returns it. REQUIRES: it may be dead, and is no Merge.
  bool note_dead(std::int32_t index, const InstructionMeta& meta) {
    const bool dead =
        std::any_of(meta.dead_flags.begin(), meta.dead_flags.end(), [&](std::int32_t flag) { return is_dead(flag); });
    set_dead(index, dead);
    return dead;
  }
  // Marks the outputs of a dead instruction as dead, and releases the slots that it is the last to read.
  void skip_dead(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta);

  // INVALID_ARGUMENT unless the predicate is a scalar bool: the Switch's kernel returns that error.
  Status run_switch(const Instruction& instruction, const InstructionMeta& meta, KernelContext::Fields& fields);
  // A Merge at the head of a loop takes an input from outside in the first iteration, and one of the previous iteration
  // in later ones.
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
  // If there is another iteration, sets `at` back to the loop's begin and returns true.
  bool start_next_iteration(const Loop& loop, std::int32_t frame, std::size_t& at);

 private:
  // RunState::dead holds the flags of slots, then those of instructions.
  void set_dead(std::int32_t index, bool dead) {
    state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
  }

  StaticRun& run_;
  const Step& step_;
  RunState& state_;
};

}  // namespace argosy
