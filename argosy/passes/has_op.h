// has_op(): a cheap test whether a pass has any nodes to work on.
#pragma once

#include <algorithm>

#include "argosy/graph/graph.h"

namespace argosy {

// True if `is` holds for the op of some node. Conservative: also true if it only held for an op that passes have
// replaced.
template <typename Is>
bool has_op(const Graph& graph, Is is) {
  const auto& ops = graph.ops_met();
  return std::any_of(ops.begin(), ops.end(), [&](const OpDef* op) { return is(*op); });
}

}  // namespace argosy
