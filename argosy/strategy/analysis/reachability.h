// Finds which nodes reach which. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By node: not 0 for `roots` and every node they are computed from. `controls`: follows control inputs, too.
std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls);
// By node: not 0 for `from` and every node computed from them.
std::vector<char> descendants(const Graph& graph, const std::vector<NodeId>& from);

// By node: not 0 if it lies on a path from a variable to one of `losses` that no op without a gradient interrupts.
// `order`: a topological one.
std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses);

// The placeholders with an unknown first size that `from` is computed from: the batch inputs.
std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from);

// True if the op reads the shape of its input and not the elements.
bool reads_shape_only(const OpDef& op);

}  // namespace argosy
