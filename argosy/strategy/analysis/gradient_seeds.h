// Finds the seeds of a loss's gradients by name, for imported graphs. A *seed* is the gradient of the loss with respect
// to itself. gradients() and tf.gradients both name it "grad_ys". A caller that made the gradients passes the seed
// instead (DataParallelOptions::gradients).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns the seeds of this loss.
// - Ours is an OnesLike of the loss.
// - One of tf.gradients is found by the name of its consumer: "gradients/Mean_grad/…" belongs to "Mean".
// - A single seed in the graph is taken to be the loss's.
std::vector<NodeId> gradient_seeds(const Graph& graph, Endpoint loss);

// Returns the losses whose gradients `train` follows, found by their seeds as above, each once. `find_node` finds a
// node by name; a lazy importer may create it then. It returns null if there is none.
using FindNode = std::function<std::optional<NodeId>(std::string_view)>;
std::vector<Endpoint> find_losses(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node);

// seed ──► users    ⇒    seed ──► _ScaleNonempty(_ShardWeight(x)) ──► users
//
// The weight is 1 here; each shard's copy gets its own.
Status scale_gradient_seed(Graph& graph, NodeId seed, NodeId batch_input);

}  // namespace argosy
