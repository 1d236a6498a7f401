// Which nodes are in loops in dataflow form. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By node: in how many loops, one in another. `order`: topological.
std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
