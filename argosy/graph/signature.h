// What a node reads and gives, held against its op's definition: as many values, of the dtypes that its attributes say,
// references where the op takes references. Whoever built or changed the graph, a kernel of a step may rely on it.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// INTERNAL, naming the node and the argument, where they differ: graphs that users give were checked as they came, so
// it is a rewrite of ours that is wrong. Allocates nothing where all is well.
Status check_signature(const Graph& graph, const Node& node);
// Of all nodes.
Status check_signatures(const Graph& graph);

}  // namespace argosy
