// Reachability in a graph: ancestors, descendants, and nodes between variables and losses. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Returns flags by node: not 0 for `roots` and their ancestors. `controls`: follows control inputs, too.
std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls);
// Returns flags by node: not 0 for `from` and their descendants along data edges.
std::vector<char> descendants(const Graph& graph, const std::vector<NodeId>& from);

// Returns flags by node: not 0 on paths from a variable to one of `losses` along which gradients flow. An op with
// OpDef::blocks_gradient (StopGradient) interrupts a path. `order`: a topological order of the graph.
std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses);

// Returns the batch inputs: placeholders with an unknown first size among the ancestors of `from`.
std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from);

// True if the op reads the shape of its input and not the elements.
bool reads_shape_only(const OpDef& op);

}  // namespace argosy
