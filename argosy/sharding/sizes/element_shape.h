// Lists are told what shape their elements have. The sizes of shards are no global sizes: they are left open, -1.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// True if this input tells a list op the shape of its elements.
bool is_element_shape(const Graph& graph, Graph::Use use);

// The dimension to leave open in such an input; nothing: elements are not sharded. `in`, `out`: how
// the node's inputs arrive, and how its outputs are; a list has the placement of its elements.
std::optional<int> open_dim(const Graph& graph, NodeId id, const std::vector<Placement>& in,
                            const std::vector<Placement>& out);

}  // namespace argosy
