// Which nodes are in loops in dataflow form. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

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

// UNIMPLEMENTED for a loop that iterates once for every example, by the batch's shape: a shard has less to go through
// than the global batch, which other loops are made to iterate as often as.
Status check_no_loop_over_examples(const Graph& graph, const BatchAxes& axes);

}  // namespace argosy
