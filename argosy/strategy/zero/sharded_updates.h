// ZeRO-1 in a replicated graph: each device keeps a shard of the slots and updates its shard of the variables.
// Internal to strategy/.
//
//   gradient 0, 1 … ─► _AllReduce ─► update of v          gradient 0, 1 … ─► _ReduceScatter ─► update of v's elements
//                                    by m, v (whole)  ──►                                      by m, v (a shard)
//                                                                            all-gather of v, in place ◄──┘
#pragma once

#include "argosy/strategy/data_parallel/replicas.h"
#include "argosy/strategy/zero/zero_plan.h"

namespace argosy {

struct ShardedUpdates {
  int slots = 0, variables = 0;            // sharded slots, and variables that are updated in shards
  int sums = 0;                            // gradients in reduce-scatters
  std::vector<std::size_t> scatter_bytes;  // of each reduce-scatter, in starting order
  std::vector<std::vector<int>> scatters;  // their members: positions in ReplicationFacts::points
  // The variables of each all-gather: nodes of the original graph.
  std::vector<std::vector<NodeId>> gathers;
  std::vector<char> is_sharded;   // by node of the original graph: it is a slot that is sharded
  std::vector<std::string> kept;  // ZeroPlan::kept
};

// Changes the replicated `graph`, which was made of `original`. Sums that become reduce-scatters are removed from
// `replicas.buckets`. Their all-reduces stay in the graph for fetches.
Result<ShardedUpdates> shard_updates(const Graph& original, const ReplicationFacts& step, const ReplicaLayout& layout,
                                     const std::vector<NodeId>& targets, Graph& graph, Replicas& replicas);

// "slots sharded over 4 devices (ZeRO-1): 8 slots of 4 variables", then the slots that are not sharded, and why.
std::string zero_text(const ShardedUpdates& zero, std::size_t devices);

}  // namespace argosy
