// The backward sweep of resolve(): propagates shards from the users of a value to its node, where that costs nothing. A
// *wish* is the shard that all users of an output need.
//
//   z = Zeros([batch, d])  R          all users of z take S(0): a wish for S(0)
//   y = x + z              S(0)       the next forward sweep computes z as S(0)
//
// Internal to resolve/.
#pragma once

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

// Sets AxisState::wish. Returns true if a wish is new or withdrawn.
bool spread_wishes(AxisState& state);

}  // namespace argosy
