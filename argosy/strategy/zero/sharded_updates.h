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
  int slots = 0, variables = 0;            // that are sharded
  int sums = 0;                            // gradients that are reduced and scattered
  std::vector<std::size_t> scatter_bytes;  // of each reduce-scatter, in starting order
  std::vector<std::vector<int>> scatters;  // their members: positions in ReplicationFacts::points
  // The variables of each all-gather: nodes of the original graph.
  std::vector<std::vector<NodeId>> gathers;
  std::vector<char> is_sharded;   // by node of the original graph: a slot whose devices hold shards
  std::vector<std::string> kept;  // as ZeroPlan's
};

// `original`: the graph that the step was made of. `graph`: what it became. Sums that are scattered leave
// `replicas.buckets`; for whoever fetches them, their all-reduces stay.
Result<ShardedUpdates> shard_updates(const Graph& original, const ReplicationFacts& step, const ReplicaLayout& layout,
                                     const std::vector<NodeId>& targets, Graph& graph, Replicas& replicas);

// "slots sharded over 4 devices (ZeRO-1): 8 of 4 variables"; slots that are not, and why.
std::string zero_text(const ShardedUpdates& zero, std::size_t devices);

}  // namespace argosy
