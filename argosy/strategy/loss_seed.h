// Where the gradients of a loss start: the ones that flow into it, which gradients() makes here and tf.gradients there,
// both under the name "grad_ys".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The seeds of this loss's gradients. Those of an imported graph do not tell whose they are: the only one, or none.
std::vector<NodeId> loss_seeds(const Graph& graph, Endpoint loss);

// The loss whose gradients `train` follows, told by their seed: by what that looks at or, in graphs of tf.gradients, by
// the names of what takes it ("gradients/Mean_grad/…" is of "Mean"). `find_node` finds a node by name, which may be one
// that a lazy importer makes then; null: none of that name. NOT_FOUND: no gradients; UNIMPLEMENTED ARG-DP-009: those of
// several losses.
using FindNode = std::function<std::optional<NodeId>(std::string_view)>;
Result<Endpoint> find_loss(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node);

// seed ──► users    ⇒    seed ──► _ScaleOrZero(_BatchFactor(x)) ──► users.    One shard of one: the factor is 1.
Status scale_loss_seed(Graph& graph, NodeId seed, NodeId batch_input);

}  // namespace argosy
