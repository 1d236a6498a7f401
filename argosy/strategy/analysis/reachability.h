// Which nodes others are computed from, and which from others. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By node: not 0 for `roots` and whatever they are computed from; with `controls`, for what they wait for as well.
std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls);
// By node: not 0 for `from` and whatever is computed from them.
std::vector<char> descendants(const Graph& graph, const std::vector<NodeId>& from);

}  // namespace argosy
