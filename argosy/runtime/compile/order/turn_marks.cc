#include "argosy/runtime/compile/order/turn_marks.h"

#include <algorithm>
#include <limits>

#include "argosy/base/str.h"

namespace argosy {

namespace {

// True if the outputs of instruction `i` have readers, and all of them are accepted.
template <typename Accepts>
bool all_readers(const Step& step, const InstructionGraph& instructions, std::int32_t i, const Accepts& accepts) {
  const Instruction& instruction = step.instructions[i];
  bool any = false;
  for (int o = 0; o < instruction.num_outputs; ++o) {
    for (const std::int32_t reader : instructions.readers[instruction.first_output + o]) {
      if (!accepts(reader)) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace

Turn turn_of(const InstructionGraph& instructions, std::int32_t instruction) {
  const Node* const node = instructions.nodes[instruction];
  return node == nullptr ? Turn() : Turn::of(node->attrs);
}

bool ends_lifetimes(const Step& step, const InstructionGraph& instructions, std::int32_t instruction) {
  const Turn turn = turn_of(instructions, instruction);
  if (turn.sum) return true;
  if (turn.number < 0) return false;
  const auto adds = [&](std::int32_t reader) {
    const OpDef* const op = instructions.ops[reader];
    return turn_of(instructions, reader).sum || (op != nullptr && op->collective);
  };
  // A gradient may be scaled in place before it is added.
  const auto scales = [&](std::int32_t reader) {
    const OpDef* const op = instructions.ops[reader];
    return op != nullptr && !op->in_place.empty() && all_readers(step, instructions, reader, adds);
  };
  return all_readers(step, instructions, instruction, [&](std::int32_t r) { return adds(r) || scales(r); });
}

std::string describe_mixed_turns(const Step& step, const InstructionGraph& instructions,
                                 const std::vector<std::int32_t>& order) {
  // By device, walking back from the end: the earliest turn that is still to come.
  std::vector<std::int32_t> earliest(static_cast<std::size_t>(step.device_set->size()),
                                     std::numeric_limits<std::int32_t>::max());
  int marked = 0, early = 0;
  std::uint64_t bytes = 0;  // outputs of these early ones, where shapes are known
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    const std::int32_t turn = *i >= 0 ? turn_of(instructions, *i).number : -1;
    if (turn < 0) continue;
    std::int32_t& to_come = earliest[static_cast<std::size_t>(step.instructions[*i].device)];
    ++marked;
    if (turn > to_come) {
      ++early;
      const Instruction& instruction = step.instructions[*i];
      for (int o = 0; o < instruction.num_outputs; ++o) bytes += step.slots[instruction.first_output + o].bytes;
    }
    to_come = std::min(to_come, turn);
  }
  if (early == 0) return "";
  return str_cat("turns: ", early, " of ", marked, " instructions come before an earlier turn has ended, and give ",
                 format_bytes(bytes));
}

}  // namespace argosy
