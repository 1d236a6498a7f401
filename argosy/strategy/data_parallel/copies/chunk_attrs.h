// Ops that sum over the batch are told how many of its reduction chunks they see (ops/collective/reduction_chunks.h).
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Products and sums learn over what they add: the batch, or values of one example.
void set_chunk_attrs(ReplicaBuild& b);

}  // namespace argosy
