#include "argosy/strategy/analysis/batch_layout.h"

#include "argosy/op/definition/batch_rule.h"

namespace argosy {

std::int64_t repeats_of(const Node& n, const std::vector<BatchLayout>& inputs, const BatchLayout& output) {
  if (output.per_example == 0 || output.outer == 0) return 0;
  if (inputs.empty()) return 1;
  const std::int64_t first = inputs[0].repeats;
  if (n.op->forwards) {
    const std::int64_t all = inputs[0].outer * first;
    const std::int64_t own = all % output.outer == 0 ? all / output.outer : 0;
    return own > 0 && output.per_example % own == 0 ? own : 0;
  }
  if (n.op->name == "ConcatV2" || n.op->name == "Concat") {
    // Concatenated along the batch axis, or along another axis.
    std::int64_t per_example = 0, repeats = 0;
    for (const BatchLayout& input : inputs) {
      if (input.repeats == 0 || input.per_example / input.repeats != inputs[0].per_example / first) return 0;
      per_example += input.per_example, repeats += input.repeats;
    }
    if (per_example == output.per_example && inputs.size() > 1) return repeats;
  }
  if (n.op->name == "Split" && output.per_example > 0 && first > 0 && inputs[0].per_example % output.per_example == 0) {
    const std::int64_t parts = inputs[0].per_example / output.per_example;
    return first % parts == 0 ? first / parts : 0;
  }
  if (n.op->batch_rule == BatchRule::kGather && inputs.size() == 2) {  // those that the numbers have
    return inputs[1].per_example == output.per_example ? inputs[1].repeats : 0;
  }
  if (n.op->name == "SpaceToBatch" || n.op->name == "SpaceToBatchND") {
    return first == 1 && inputs[0].per_example == 1 ? output.per_example : 0;
  }
  if (n.op->name == "BatchToSpace" || n.op->name == "BatchToSpaceND") {
    return first == inputs[0].per_example && output.per_example == 1 ? 1 : 0;
  }
  if (n.op->name == "Tile" && inputs[0].per_example > 0 && output.per_example % inputs[0].per_example == 0) {
    return first * (output.per_example / inputs[0].per_example);
  }
  for (const BatchLayout& input : inputs) {
    if (input.per_example != output.per_example || input.repeats != first) return 0;
  }
  return first;
}

}  // namespace argosy
