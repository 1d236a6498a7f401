// Sizes that a node is told: each device tells those of its shard. Internal to lower/.
#pragma once

#include <optional>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// `from` counts elements of an output of the global value (OperandRule::kSizes). What device d's shard has of them.
// UNIMPLEMENTED ARG-SHARD-007: a shard's size is not known.
Result<Endpoint> local_sizes(LowerState& s, int d, Graph::Use use, Endpoint from);

// The shape that a list is told of its elements: the size of a shard is left open, -1. Nothing: this input is no such
// shape, or elements are not sharded.
std::optional<Result<Endpoint>> open_element_shape(LowerState& s, int d, Graph::Use use, Endpoint from);

}  // namespace argosy
