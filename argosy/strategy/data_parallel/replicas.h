// Builds the copies of a data-parallel graph, and records which node is whose copy. Internal to strategy/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replica_layout.h"
#include "argosy/strategy/data_parallel/replication_plan.h"

namespace argosy {

// The nodes that replicate() built.
struct Replicas {
  std::vector<std::vector<NodeId>> shard;   // [shard][node of the original]; for ReplicaKind::kSharded
  std::vector<std::vector<NodeId>> device;  // [device][node of the original]; for ReplicaKind::kReplicated
  std::vector<std::vector<Endpoint>> sums;  // [device][collective]; of joined rows as well
  int joined = 0;                           // number of collectives that join rows
  std::vector<std::size_t> bucket_bytes;    // of the gradients' all-reduces, in starting order
  std::vector<std::vector<int>> buckets;    // their members: positions in ReplicationPlan::collectives
};

// Turns the graph, a clone of the original with equal ids, into the replicated graph.
Result<Replicas> replicate(Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout);

}  // namespace argosy
