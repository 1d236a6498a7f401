// The global value of a value of the base graph, for fetches. Internal to lower/.
#pragma once

#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

// Returns the global value of `e`. Adds nodes on the host that join or add up its shards. A value that is no shard or
// partial value is computed again, from global inputs. INVALID_ARGUMENT ARG-SHARD-008: it cannot be, or is in a loop.
Result<Value> global_value(LowerState& s, Endpoint e);

}  // namespace argosy
