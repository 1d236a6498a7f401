// Lists are told what shape their elements have. The sizes of shards are no global sizes: they are left open, -1.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"

namespace argosy {

// The dimension to leave open, where this input is a list op's "element_shape" and elements are sharded. `in`, `out`: how
// the node's inputs arrive, and how its outputs are; a list has the placement of its elements.
std::optional<int> open_dim(const Graph& graph, Graph::Use use, const std::vector<Placement>& in,
                            const std::vector<Placement>& out);

}  // namespace argosy
