// Tells for people what travels between the devices of a replicated step, and what is not sharded. Internal to
// strategy/.
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/data_parallel/replicas.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

// `graph`: the one that the plan describes. Its first `original` nodes are the caller's; the planner added the others.
// `zero`: what ZeRO-1 made of the replicas; null: it is off.
std::vector<PlannedCollective> planned_collectives(const Graph& graph, std::int32_t original,
                                                   const ReplicationPlan& plan, const Replicas& replicas,
                                                   const ShardedUpdates* zero = nullptr);
std::vector<PlannedWhole> planned_whole(const Graph& graph, std::int32_t original, const ReplicationPlan& plan);
// NOT_FOUND ARG-SHARD-005.
Result<NodeId> find_original(const Graph& graph, std::int32_t original, std::string_view name);
// `placement`: of its first output.
PlannedNode planned_node(const Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout, NodeId id,
                         const BatchPlacement& placement);

}  // namespace argosy
