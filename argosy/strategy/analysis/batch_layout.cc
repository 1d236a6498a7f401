#include "argosy/strategy/analysis/batch_layout.h"

#include "argosy/op/definition/batch_rule.h"

namespace argosy {

std::int64_t rounds_of(const Node& n, const std::vector<Rows>& inputs, const Rows& output) {
  if (output.each == 0 || output.before == 0) return 0;
  if (inputs.empty()) return 1;
  const std::int64_t first = inputs[0].rounds;
  if (n.op->forwards) {
    const std::int64_t all = inputs[0].before * first;
    const std::int64_t own = all % output.before == 0 ? all / output.before : 0;
    return own > 0 && output.each % own == 0 ? own : 0;
  }
  if (n.op->name == "ConcatV2" || n.op->name == "Concat") {
    // One behind the other along the batch, or beside each other along another axis.
    std::int64_t each = 0, rounds = 0;
    for (const Rows& input : inputs) {
      if (input.rounds == 0 || input.each / input.rounds != inputs[0].each / first) return 0;
      each += input.each, rounds += input.rounds;
    }
    if (each == output.each && inputs.size() > 1) return rounds;
  }
  if (n.op->name == "Split" && output.each > 0 && first > 0 && inputs[0].each % output.each == 0) {
    const std::int64_t parts = inputs[0].each / output.each;
    return first % parts == 0 ? first / parts : 0;
  }
  if (n.op->batch_rule == BatchRule::kTakesRows && inputs.size() == 2) {  // those that the numbers have
    return inputs[1].each == output.each ? inputs[1].rounds : 0;
  }
  if (n.op->name == "SpaceToBatch" || n.op->name == "SpaceToBatchND") {
    return first == 1 && inputs[0].each == 1 ? output.each : 0;
  }
  if (n.op->name == "BatchToSpace" || n.op->name == "BatchToSpaceND") {
    return first == inputs[0].each && output.each == 1 ? 1 : 0;
  }
  if (n.op->name == "Tile" && inputs[0].each > 0 && output.each % inputs[0].each == 0) {
    return first * (output.each / inputs[0].each);
  }
  for (const Rows& input : inputs) {
    if (input.each != output.each || input.rounds != first) return 0;
  }
  return first;
}

}  // namespace argosy
