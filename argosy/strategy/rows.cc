#include "argosy/strategy/rows.h"

namespace argosy {

std::int64_t rounds_of(const Node& n, const std::vector<Rows>& inputs, const Rows& output) {
  if (output.each == 0) return 0;
  if (inputs.empty()) return 1;
  const std::int64_t first = inputs[0].rounds;
  if (n.op->forwards) {
    const std::int64_t all = inputs[0].before * first;
    const std::int64_t own = all % output.before == 0 ? all / output.before : 0;
    return own > 0 && output.each % own == 0 ? own : 0;
  }
  for (const Rows& input : inputs) {
    if (input.each != output.each || input.rounds != first) return 0;
  }
  return first;
}

}  // namespace argosy
