// Which nodes run only when conditionals in dataflow form (Switch, Merge) go one way. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By node: equal numbers run, or do not, together; 0: in every step. `order` is a topological one.
std::vector<int> find_branches(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
