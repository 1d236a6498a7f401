// Graphs that cannot be copied: nodes pinned to several devices by hand, loops that copies would share.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// INVALID_ARGUMENT ARG-DP-005: the graph is split over devices by hand.
Status check_pins(const ReplicaBuild& b);

// UNIMPLEMENTED ARG-DP-003: a loop, and several shards on one device.
// A loop's predicate exists once per device and its loop-carried values once per shard. They share one frame.
Status check_loops(const ReplicaBuild& b);

}  // namespace argosy
