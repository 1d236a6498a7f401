// All-reduces of gradients and other values that shards add up, in buckets.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Values of several shards of one device are added up there as its turns end (turn_sums.h); an all-reduce adds the devices'.
// Fills `replicas.sums` for all collective points but joined rows. Buckets hold values of one dtype, depth, branch and
// loop, in the order in which the values are computed.
void add_all_reduces(ReplicaBuild& b);

}  // namespace argosy
