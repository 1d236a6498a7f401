// Finds the losses of imported graphs by the seeds of their gradients. A *seed* is the gradient of the loss with
// respect to itself. gradients() and tf.gradients both name it "grad_ys".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns the losses whose gradients the nodes of `train` depend on, each once.
// - gradients() of this project: the loss is the input of the seed, an OnesLike.
// - tf.gradients: the name of the seed's consumer names the loss. "gradients/Mean_grad/…" belongs to "Mean".
//
// `find_node` finds a node by name, or returns nullopt. A lazy importer may create the node then.
using FindNode = std::function<std::optional<NodeId>(std::string_view)>;
std::vector<Endpoint> find_losses(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node);

// True if, by its name, the node is a seed ("grad_ys") or belongs to the gradient of a tf.GradientTape. It finds the
// gradients in functions that were lowered: their losses have no name in the client's graph.
bool belongs_to_gradient(const Node& n);

}  // namespace argosy
