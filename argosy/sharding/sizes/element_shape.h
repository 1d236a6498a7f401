// The inputs `element_shape` of list ops. If elements are sharded, the sharded dimension becomes -1 in them: shards
// have other sizes than the global element.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// True if this input is the shape of a list's elements.
bool is_element_shape(const Graph& graph, Graph::Use use);

// Returns the dimension that is -1 in such an input; nullopt: elements are not sharded. `in`, `out`: the placements of
// the node's inputs, after reshards, and of its outputs. A list has the placement of its elements.
std::optional<int> open_dim(const Graph& graph, NodeId id, const std::vector<Placement>& in,
                            const std::vector<Placement>& out);

}  // namespace argosy
