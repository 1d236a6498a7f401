// Finds the conditional branch that each node is in. Conditionals are in dataflow form (Switch, Merge). Internal to
// strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct Branches {
  std::vector<int> of;                            // by node: the number of its branch; 0: runs in every step
  std::vector<std::vector<Endpoint>> predicates;  // by branch number: the predicates that select it
};
// `order`: topological.
Branches find_branches(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
