// The order of the collectives: which have to wait for which. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/replication_plan.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Fills in depth, branch and loop of each, and sorts them in the order in which they are computed (`order`: the
// graph's, topological). UNIMPLEMENTED ARG-DP-003: one would wait for itself, or not every shard comes to it.
Status order_collectives(const Graph& graph, const std::vector<NodeId>& order,
                         const std::vector<ReplicaKind>& replica_kinds, std::vector<CollectivePoint>& collectives);

}  // namespace argosy
