// Finds which nodes reach which. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// By node: not 0 for `roots` and every node they are computed from. `controls`: follows control inputs, too.
std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls);
// By node: not 0 for `from` and every node computed from them.
std::vector<char> descendants(const Graph& graph, const std::vector<NodeId>& from);

}  // namespace argosy
