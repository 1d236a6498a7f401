// Clones the nodes of a graph and infers their shapes again for inputs of other sizes. Some shapes follow no edge:
// those of values read from stacks and TensorArrays, and of loop-carried values. Internal to strategy/.
#pragma once

#include <functional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/tensor_arrays.h"

namespace argosy {

// Maps a node of the original to its clone; index -1: not cloned yet.
using CopyOf = std::function<NodeId(NodeId)>;

// Returns the spec of the clone of `id`, whose inputs are cloned already. A loop's Merge takes the shape of its
// entering input. A read from a stack takes the shape of the pushed value. The clone serves inference only and is never
// run.
NodeSpec copy_spec(const Graph& graph, NodeId id, const TensorArrays& arrays, const Graph& copies,
                   const CopyOf& copy_of);

struct ReinferredGraph {
  Graph graph;
  std::vector<NodeId> of;  // by node of the original: its clone
};

// Clones every node of `order` (TensorArrays::order()). `change` may edit each spec. Sizes that change from iteration
// to iteration of a loop become unknown.
using Change = std::function<Status(NodeId, NodeSpec&)>;
Result<ReinferredGraph> clone_and_reinfer(const Graph& graph, const TensorArrays& arrays,
                                          const std::vector<NodeId>& order, const Change& change);

}  // namespace argosy
