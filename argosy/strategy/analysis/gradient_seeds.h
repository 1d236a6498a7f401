// Where the gradients of a loss start: the ones that flow into it, which gradients() makes here and tf.gradients there,
// both under the name "grad_ys".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The seeds of this loss's gradients: ours by what they look at, those of tf.gradients by the names of what takes them
// ("gradients/Mean_grad/…" is of "Mean"), or the only one there is.
std::vector<NodeId> gradient_seeds(const Graph& graph, Endpoint loss);

// The losses whose gradients `train` follows, told by their seeds likewise, each once. `find_node` finds a node by
// name, which may be one that a lazy importer makes then; null: none of that name.
using FindNode = std::function<std::optional<NodeId>(std::string_view)>;
std::vector<Endpoint> find_losses(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node);

// seed ──► users    ⇒    seed ──► _ScaleNonempty(_ShardWeight(x)) ──► users.    One shard of one: the factor is 1.
Status scale_gradient_seed(Graph& graph, NodeId seed, NodeId batch_input);

}  // namespace argosy
