// The forward sweep of resolve(): for each node, in topological order, the sharding whose reshards cost least. Internal
// to resolve/.
#pragma once

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

// Sweeps until the placements that loops carry reach a fixpoint. INVALID_ARGUMENT ARG-SHARD-013: no sharding fits a
// node.
Status sweep_forward(AxisState& state);

}  // namespace argosy
