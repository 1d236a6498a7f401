// Orders the collectives by their dependencies. Internal to strategy/.
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/replication_plan.h"
#include "argosy/strategy/sharding/update_collectives.h"

namespace argosy {

// Fills in depth, branch and loop of each collective and sorts them in the order of their computation. `order`: the
// graph's nodes, topological. UNIMPLEMENTED ARG-DP-003: a collective would wait for itself, or some shard never reaches
// it.
Status order_collectives(const Graph& graph, const std::vector<NodeId>& order,
                         const std::vector<ReplicaKind>& replica_kinds, std::vector<CollectivePoint>& collectives);

}  // namespace argosy
