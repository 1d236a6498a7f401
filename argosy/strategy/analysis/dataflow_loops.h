// Finds the loop that each node is in. Loops are in dataflow form. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/batch_axis.h"

namespace argosy {

struct Loops {
  std::vector<int> of;      // by node: its innermost loop, of an Enter the loop it starts; 0: none
  std::vector<int> around;  // by loop: the loop that encloses it; 0: none
  std::vector<int> depth;   // by loop: its nesting depth, from 1
};

// `order`: topological.
Loops find_loops(const Graph& graph, const std::vector<NodeId>& order);

// By node: its loop nesting depth.
std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order);

// Returns UNIMPLEMENTED for a loop that iterates once per example, by the batch's shape. A shard has fewer examples,
// but every device must iterate as often as the global batch would.
Status check_no_loop_over_examples(const Graph& graph, const BatchAxes& axes);

}  // namespace argosy
