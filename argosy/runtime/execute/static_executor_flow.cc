// Control flow in a fixed order: branches, loops, values that are dead.
#include "argosy/runtime/execute/static_executor.h"

namespace argosy {

Status InOrder::run_switch(const Item& item, const ItemExtras& extras, KernelContext::Fields& fields) {
  const Tensor& truth = *state_.inputs[item.first_input + 1];
  if (truth.dtype() != DType::kBool || truth.shape().rank() != 0) {
    point_at(item, fields);  // the kernel says what is wrong
    KernelContext kernel_context(fields);
    return item.kernel->run(kernel_context);
  }
  const int taken = *truth.raw_as<bool>() ? 1 : 0;
  state_.dead[item.first_output + taken] = 0;
  state_.dead[item.first_output + 1 - taken] = 1;
  hand_on(item, extras, 0, item.first_output + taken);
  return ok_status();
}

Status InOrder::run_merge(std::int32_t index, const Item& item, const ItemExtras& extras) {
  std::uint64_t candidates = ~std::uint64_t{0};
  if (extras.turns != 0) candidates = state_.first_turn[extras.loop] != 0 ? ~extras.turns : extras.turns;
  int chosen = 0;
  while (chosen < item.num_inputs &&
         ((chosen < 64 && (candidates >> chosen & 1) == 0) || is_dead(extras.checks[chosen]))) {
    ++chosen;
  }
  const bool dead = chosen == item.num_inputs;
  if (item.conditional) state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
  if (dead) return item.conditional ? ok_status() : internal_error("a Merge that cannot be dead is");
  for (const auto& [handle, value] : extras.derefs) {
    if (step_.input_slots[item.first_input + chosen] == value) ARGOSY_RETURN_IF_ERROR(dereference(handle, value));
  }
  if (chosen < 64) {
    hand_on(item, extras, chosen, item.first_output);
  } else {
    state_.tensors[item.first_output] = *state_.inputs[item.first_input + chosen];
  }
  if (extras.wants_index) state_.tensors[item.first_output + 1] = Tensor::scalar(std::int32_t{chosen});
  return ok_status();
}

void InOrder::begin_loop(const Loop& loop, std::int32_t frame, std::size_t& at) {
  state_.first_turn[frame] = 1;
  const bool skipped = !loop.enters.empty() && std::all_of(loop.enters.begin(), loop.enters.end(),
                                                           [&](std::int32_t flag) { return is_dead(flag); });
  if (!skipped) return;
  for (const std::int32_t flag : loop.nexts) state_.dead[flag] = 1;
  for (const std::int32_t flag : loop.leaving) state_.dead[flag] = 1;
  at = static_cast<std::size_t>(loop.end) - 1;
}

bool InOrder::goes_on(const Loop& loop, std::int32_t frame, std::size_t& at) {
  if (std::all_of(loop.nexts.begin(), loop.nexts.end(), [&](std::int32_t flag) { return is_dead(flag); })) return false;
  state_.first_turn[frame] = 0;
  at = static_cast<std::size_t>(loop.begin);
  return true;
}

void InOrder::pass_over(std::int32_t index, const Item& item, const ItemExtras& extras) {
  if (item.role == Role::kSwitch) std::fill_n(state_.dead.begin() + item.first_output, item.num_outputs, 1);
  for (const std::int32_t slot : extras.releases) state_.tensors[slot] = Tensor();
  if (item.signals || item.async) signal(index);
}

void InOrder::hand_on(const Item& item, const ItemExtras& extras, int input, std::int32_t to) {
  Tensor& from = state_.tensors[step_.input_slots[item.first_input + input]];
  if ((extras.moves >> input & 1) != 0) {
    state_.tensors[to] = std::move(from);
  } else {
    state_.tensors[to] = from;
  }
}

}  // namespace argosy
