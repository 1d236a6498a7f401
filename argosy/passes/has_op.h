// A cheap question before a pass: are there any nodes for it?
#pragma once

#include <algorithm>

#include "argosy/graph/graph.h"

namespace argosy {

// Whether `is` holds for the op of some node. Also true where it held once: passes change nodes into others.
template <typename Is>
bool has_op(const Graph& graph, Is is) {
  const auto& ops = graph.ops_met();
  return std::any_of(ops.begin(), ops.end(), [&](const OpDef* op) { return is(*op); });
}

}  // namespace argosy
