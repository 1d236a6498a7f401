// Inputs and control inputs of copies.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Connects every copy to the copies of its shard and device, and to combined values.
void connect_copies(ReplicaBuild& b);

}  // namespace argosy
