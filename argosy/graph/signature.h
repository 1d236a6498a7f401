// Checks nodes against the definitions of their ops: numbers of inputs and outputs, dtypes according to the attributes,
// and references where the op takes references. So kernels may rely on them, whatever built or changed the graph.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Checks one node. INTERNAL names the node and the argument that differ. It means a bug in a rewrite: users' graphs are
// checked when they are imported. Allocates nothing if the check passes.
Status check_signature(const Graph& graph, const Node& node);
// Checks all nodes.
Status check_signatures(const Graph& graph);

}  // namespace argosy
