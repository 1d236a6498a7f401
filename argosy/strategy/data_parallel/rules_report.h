// Reports on a step that was replicated by sharding rules: its collectives, its copies of nodes, how its losses
// combine. Internal to strategy/.
#pragma once

#include <string>
#include <vector>

#include "argosy/sharding/lower/lower.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/data_parallel/replicas.h"
#include "argosy/strategy/zero/sharded_updates.h"

namespace argosy {

// A replicated step. All of it is borrowed.
struct ReplicationReportInput {
  const Graph& base;
  std::int32_t original = 0;  // nodes that the caller gave; others were added
  const Sizes& sizes;
  const RuleTable& rules;
  const Assignment& assignment;
  const Lowered& lowered;
  const ReplicaLayout& layout;
  const std::vector<Endpoint>& losses;
  const Replicas& replicas;                // sums and buckets, by point
  const std::vector<std::size_t>& points;  // the reshard of each
  const ShardedUpdates* zero = nullptr;    // null: ZeRO-1 is off
};

// Returns how the values that shards have of `value` combine. A partial sum is named after the reduction over the batch
// that it comes from: a sum, a mean or a weighted mean.
PlacementKind combines_as(const ReplicationReportInput& step, Endpoint value);

// True if the step has all-gathers, other than those for rows of sparse gradients.
bool gathers_whole(const ReplicationReportInput& step);
std::string summary_of(const ReplicationReportInput& step, const std::vector<ReplicationNote>& notes);
std::vector<PlannedCollective> collectives_of(const ReplicationReportInput& step);
std::vector<PlannedWhole> whole_of(const ReplicationReportInput& step);
PlannedNode planned_of(const ReplicationReportInput& step, NodeId id);

}  // namespace argosy
