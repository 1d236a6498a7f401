// What a node reads and gives, held against its op's definition: as many values, of the dtypes that its attributes say,
// references where the op takes references. Whoever built or changed the graph, a kernel of a step may rely on it.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// INTERNAL, with the node and the argument, where they differ. Graphs of users were checked as they came: a
// rewrite of ours is wrong. Allocates nothing where all is well.
Status check_signature(const Graph& graph, const Node& node);
// Of all nodes.
Status check_signatures(const Graph& graph);

}  // namespace argosy
