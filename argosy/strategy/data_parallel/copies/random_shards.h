// Random numbers with rows of examples: each shard draws its elements of one global stream.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Random numbers with rows of examples are the same on any number of devices. Unseeded ops stay as they are: every
// device's stream differs.
bool draws_by_rows(const ReplicaBuild& b, NodeId id);

// The node that draws the elements of `shard`. REQUIRES: draws_by_rows(b, id).
Result<NodeId> random_shard(ReplicaBuild& b, NodeId id, int shard);

}  // namespace argosy
