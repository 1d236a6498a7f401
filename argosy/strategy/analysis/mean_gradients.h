// Where the gradients of means divide by how many are averaged, told by the names that gradients() and tf.gradients
// give alike: "gradients/loss/Mean_grad/truediv" is in that of "loss/Mean". Internal to strategy/.
#pragma once

#include <map>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By the node of a Mean.
std::map<NodeId, std::vector<NodeId>> divisions_of_means(const Graph& graph);

// e times the shard's part of the batch that comes in at `batch_input`. Adds nodes.
Result<Endpoint> scaled_by_part(Graph& graph, Endpoint e, NodeId batch_input);
// Of a mean that all shards have of the global batch: its gradient divides by how many the batch has. Adds nodes.
Status scale_divisions(Graph& graph, NodeId mean, NodeId batch_input);

// By node: between a variable and one of the losses, with nothing between that has no gradient.
std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses);

}  // namespace argosy
