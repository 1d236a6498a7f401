// Replaces size operands and element shapes of lists: each device's copy of a node gets those of its shard. Internal to
// lower/.
#pragma once

#include <optional>

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// `from` is a size operand (OperandRule::kSizes): sizes of the global output. Returns the sizes of device d's shard.
// UNIMPLEMENTED ARG-SHARD-007: these are not known.
Result<Endpoint> local_sizes(LowerState& s, int d, Graph::Use use, Endpoint from);

// `from` is the `element_shape` of a TensorList: the sharded axis becomes -1. nullopt: this input is no element shape,
// or elements are not sharded. UNIMPLEMENTED as above: the rank of the elements is not known.
std::optional<Result<Endpoint>> open_element_shape(LowerState& s, int d, Graph::Use use, Endpoint from);

}  // namespace argosy
