// Collective points whose rows every device needs.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Every device gets the rows of all shards, in the order of the batch: each copies what it lacks.
void join_rows(ReplicaBuild& b);

}  // namespace argosy
