// Which nodes are in loops in dataflow form. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct Loops {
  std::vector<int> of;      // by node: the innermost loop around it (of an Enter, the one that it begins); 0: none
  std::vector<int> around;  // by loop: the one that it is in; 0: none
  std::vector<int> depth;   // by loop: how many there are, one in another
};

// `order`: topological.
Loops find_loops(const Graph& graph, const std::vector<NodeId>& order);

// By node: in how many loops, one in another.
std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace argosy
