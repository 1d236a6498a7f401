// A graph's nodes made again in another graph, so that shapes are inferred anew from inputs of other sizes, also those
// which no edge tells: of what is taken from stacks and arrays, and of what loops carry. Internal to strategy/.
#pragma once

#include <functional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/analysis/tensor_arrays.h"

namespace argosy {

// The node that stands for one of the original; index -1: not there yet.
using CopyOf = std::function<NodeId(NodeId)>;

// What is to be added for a node, with the inputs that are there. A loop's Merge has the shape of what enters; what a
// stack gives is what was put there. Only to infer by: what is made so is never run.
NodeSpec copy_spec(const Graph& graph, NodeId id, const TensorArrays& arrays, const Graph& copies,
                   const CopyOf& copy_of);

struct ReinferredGraph {
  Graph graph;
  std::vector<NodeId> of;  // by node of the original
};

// `order`: arrays.order(). `change` may make a spec another. Sizes that loops change as they iterate are open.
using Change = std::function<Status(NodeId, NodeSpec&)>;
Result<ReinferredGraph> clone_and_reinfer(const Graph& graph, const TensorArrays& arrays,
                                          const std::vector<NodeId>& order, const Change& change);

}  // namespace argosy
