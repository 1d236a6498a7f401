// Finds the losses of imported graphs by the seeds of their gradients. A *seed* is the gradient of the loss with respect
// to itself. gradients() and tf.gradients both name it "grad_ys".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns the losses whose gradients `train` follows, each once.
// - Ours is what an OnesLike of that name is of.
// - One of tf.gradients is found by the name of the seed's consumer: "gradients/Mean_grad/…" belongs to "Mean".
//
// `find_node` finds a node by name; a lazy importer may create it then. It returns null if there is none.
using FindNode = std::function<std::optional<NodeId>(std::string_view)>;
std::vector<Endpoint> find_losses(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node);

// True if the node is a seed of tf.gradients, or what tf.GradientTape computes in a function. For functions that were
// lowered: their losses have no name in the client's graph.
bool belongs_to_gradient(const Node& n);

}  // namespace argosy
