// Finds where the gradient of a Mean divides by the number of averaged elements. gradients() and tf.gradients give
// these divisions the same names: "gradients/loss/Mean_grad/truediv" belongs to "loss/Mean". Internal to strategy/.
#pragma once

#include <map>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By Mean node: the RealDiv nodes of its gradient.
std::map<NodeId, std::vector<NodeId>> divisions_of_means(const Graph& graph);

// Returns e times the shard's weight in the batch that enters at `batch_input`. Adds nodes.
Result<Endpoint> scaled_by_part(Graph& graph, Endpoint e, NodeId batch_input);
// Scales the divisions of a mean that has a global value: the shard's own count becomes the global count. Adds nodes.
Status scale_divisions(Graph& graph, NodeId mean, NodeId batch_input);

// By node: not 0 if it lies on a path from a variable to one of `losses` that no op without a gradient interrupts.
std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses);

}  // namespace argosy
