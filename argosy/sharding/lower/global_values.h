// The global value of a value of the base graph, for fetches. Internal to lower/.
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Returns the global value of `e`, by its placement:
// - replicated, on one device, or not of the step: the value of shard 0;
// - sharded, partial, or a shard's own floating-point statistics: nodes on the host join or add up the shards' values;
// - any other: it is computed again on the host, from global inputs.
//
// A reshard to R that exists already is used instead. INVALID_ARGUMENT ARG-SHARD-008: it cannot be computed again, or
// is in a loop.
Result<Value> global_value(LowerState& s, Endpoint e);

}  // namespace argosy
