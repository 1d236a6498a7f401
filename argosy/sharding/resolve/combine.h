// Decides where partial values are combined, that is become R. Internal to resolve/.
//
//   p: P(sum) ──► sqrt        needs R: p is combined, for all its users
//        │
//        └──────► add         read P(sum) so far; it reads R, too
//
//   s: P(sum) [d] ──► spread: P(sum) [batch, d] ──► mul     moved up: s is smaller
#pragma once

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

// Marks partial values that some user needs combined, and values of one device that some user needs on every device.
// A sum that becomes the gradient of a shard's own statistics is not marked: other users combine it for themselves.
// Returns true if there are new ones.
bool combine_for_all(AxisState& state);
// Marks partial values whose combination replaces larger ones, or several, further down. Returns true if there are any.
bool move_combinations_up(AxisState& state);

}  // namespace argosy
