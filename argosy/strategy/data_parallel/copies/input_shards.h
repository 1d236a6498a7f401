// The batch's placeholders, split into shards.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Fills `input_shards`. Placeholders stay whole and on the host.
void shard_inputs(ReplicaBuild& b);

}  // namespace argosy
