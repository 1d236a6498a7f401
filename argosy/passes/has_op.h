// Whether a pass has anything to do.
#pragma once

#include <algorithm>

#include "argosy/graph/graph.h"

namespace argosy {

// Is there a node whose op is such a one? Or was there: passes change nodes into others.
template <typename Is>
bool has_op(const Graph& graph, Is is) {
  const auto& ops = graph.ops_met();
  return std::any_of(ops.begin(), ops.end(), [&](const OpDef* op) { return is(*op); });
}

}  // namespace argosy
