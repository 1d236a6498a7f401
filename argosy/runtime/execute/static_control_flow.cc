#include "argosy/runtime/execute/static_control_flow.h"

namespace argosy {

Status StaticControlFlow::run_switch(const Instruction& instruction, const InstructionMeta& meta,
                                     KernelContext::Fields& fields) {
  const Tensor& truth = *state_.inputs[instruction.first_input + 1];
  if (truth.dtype() != DType::kBool || truth.shape().rank() != 0) {
    run_.point_at(instruction, fields);  // the kernel says what is wrong
    KernelContext kernel_context(fields);
    return instruction.kernel->run(kernel_context);
  }
  const int taken = *truth.raw_as<bool>() ? 1 : 0;
  state_.dead[instruction.first_output + taken] = 0;
  state_.dead[instruction.first_output + 1 - taken] = 1;
  forward_input(instruction, meta, 0, instruction.first_output + taken);
  return ok_status();
}

Status StaticControlFlow::run_merge(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta) {
  std::uint64_t candidates = ~std::uint64_t{0};
  if (meta.back_edge_inputs != 0)
    candidates = state_.first_iteration[meta.loop] != 0 ? ~meta.back_edge_inputs : meta.back_edge_inputs;
  int chosen = 0;
  while (chosen < instruction.num_inputs &&
         ((chosen < 64 && (candidates >> chosen & 1) == 0) || is_dead(meta.dead_flags[chosen]))) {
    ++chosen;
  }
  const bool dead = chosen == instruction.num_inputs;
  if (instruction.may_be_dead) set_dead(index, dead);
  if (dead) return instruction.may_be_dead ? ok_status() : internal_error("a Merge that cannot be dead is");
  for (const auto& [handle, value] : meta.derefs) {
    if (step_.input_slots[instruction.first_input + chosen] == value)
      ARGOSY_RETURN_IF_ERROR(run_.dereference(handle, value));
  }
  if (chosen < 64) {
    forward_input(instruction, meta, chosen, instruction.first_output);
  } else {
    state_.tensors[instruction.first_output] = *state_.inputs[instruction.first_input + chosen];
  }
  if (meta.wants_index) state_.tensors[instruction.first_output + 1] = Tensor::scalar(std::int32_t{chosen});
  return ok_status();
}

void StaticControlFlow::begin_loop(const Loop& loop, std::int32_t frame, std::size_t& at) {
  state_.first_iteration[frame] = 1;
  const bool skipped = !loop.enters.empty() && std::all_of(loop.enters.begin(), loop.enters.end(),
                                                           [&](std::int32_t flag) { return is_dead(flag); });
  if (!skipped) return;
  for (const std::int32_t flag : loop.nexts) state_.dead[flag] = 1;
  for (const std::int32_t flag : loop.leaving) state_.dead[flag] = 1;
  at = static_cast<std::size_t>(loop.end) - 1;
}

bool StaticControlFlow::start_next_iteration(const Loop& loop, std::int32_t frame, std::size_t& at) {
  if (std::all_of(loop.nexts.begin(), loop.nexts.end(), [&](std::int32_t flag) { return is_dead(flag); })) return false;
  state_.first_iteration[frame] = 0;
  at = static_cast<std::size_t>(loop.begin);
  return true;
}

void StaticControlFlow::skip_dead(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta) {
  if (instruction.role == Role::kSwitch)
    std::fill_n(state_.dead.begin() + instruction.first_output, instruction.num_outputs, 1);
  for (const std::int32_t slot : meta.releases) state_.tensors[slot] = Tensor();
  if (instruction.signals || instruction.async) run_.signal(index);
}

}  // namespace argosy
