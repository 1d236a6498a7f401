// Where the gradients of a loss start: the ones that flow into it, which gradients() makes here and tf.gradients there,
// both under the name "grad_ys". Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The seeds of this loss's gradients. Those of an imported graph do not tell whose they are: the only one, or none.
std::vector<NodeId> loss_seeds(const Graph& graph, Endpoint loss);

// The loss that `train` follows the gradients of, told by its seed: by what that looks at, or, in graphs of
// tf.gradients, by the names of what takes it ("gradients/Mean_grad/…" is of "Mean"). NOT_FOUND: no gradients, or of
// several losses, or it cannot be told.
Result<Endpoint> find_loss(const Graph& graph, const std::vector<NodeId>& train);

// seed ──► users    ⇒    seed ──► _ScaleOrZero(_BatchFactor(x)) ──► users.    One shard of one: the factor is 1.
Status scale_loss_seed(Graph& graph, NodeId seed, NodeId batch_input);

}  // namespace argosy
