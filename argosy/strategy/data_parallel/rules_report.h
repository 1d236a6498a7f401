// What people are told of a step that was replicated by sharding rules. Internal to strategy/.
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
struct RulesStep {
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

// How the value combines over shards, as people say it: by the reduction over the batch that it comes from.
PlacementKind combines_as(const RulesStep& step, Endpoint value);

// True if shards are gathered, other than rows of sparse gradients.
bool gathers_whole(const RulesStep& step);
std::string summary_of(const RulesStep& step, const std::vector<ReplicationNote>& notes);
std::vector<PlannedCollective> collectives_of(const RulesStep& step);
std::vector<PlannedWhole> whole_of(const RulesStep& step);
PlannedNode planned_of(const RulesStep& step, NodeId id);

}  // namespace argosy
