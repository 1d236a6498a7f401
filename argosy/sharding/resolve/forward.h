// The forward sweep of resolve(): for each node, in topological order, the way whose reshards cost least. Internal to
// resolve/.
#pragma once

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

// Sweeps until what loops carry stays the same. INVALID_ARGUMENT ARG-SHARD-013: a node has no way.
Status sweep_forward(AxisState& state);

}  // namespace argosy
