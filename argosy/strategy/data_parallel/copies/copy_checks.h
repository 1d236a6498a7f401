// Graphs that cannot be copied: nodes pinned to several devices by hand.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// INVALID_ARGUMENT ARG-DP-005: the graph is split over devices by hand.
Status check_pins(const ReplicaBuild& b);

}  // namespace argosy
