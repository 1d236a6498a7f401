// The global value of a value of the base graph: what a fetch gives. Internal to lower/.
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Adds nodes on the host. A value of which each device has its own is computed again, from global inputs.
// INVALID_ARGUMENT ARG-SHARD-008: it cannot be.
Result<Value> global_value(LowerState& s, Endpoint e);

}  // namespace argosy
