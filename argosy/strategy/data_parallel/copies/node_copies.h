// Copies of nodes: one a shard of what sees the batch, one a device of variables and constants.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Fills `replicas.shard` and `replicas.device`. Copies have the original's inputs until copy_edges.h sets their own.
Status copy_nodes(ReplicaBuild& b);

// One copy, named "…/replica_<replica>". Added with the original's inputs, whose shapes are the same.
Result<NodeId> copy_node(ReplicaBuild& b, NodeId id, int replica, int shard, int device);

// Puts a node on a device of the layout, unless it is pinned to a CPU.
void place_on(ReplicaBuild& b, NodeId id, int device);

}  // namespace argosy
