// Whether a pass has anything to do: a look at each node's op, which costs next to nothing beside finding who reads
// what.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Is there a node whose op is such a one? `is` is asked once for stretches of nodes of one op.
template <typename Is>
bool has_op(const Graph& graph, Is is) {
  const OpDef* last = nullptr;
  for (const Node& n : graph.nodes()) {
    if (n.op == last) continue;
    last = n.op;
    if (is(*n.op)) return true;
  }
  return false;
}

}  // namespace argosy
