// The copies of a data-parallel graph: which node stands for which on every device and shard. Internal to strategy/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replication_plan.h"

namespace argosy {

struct ReplicaLayout {
  std::vector<std::string> devices;
  std::vector<std::int64_t> weights;  // of the shards
  std::vector<int> device_of;         // by shard; ascending
  int chunks = 0;  // of the batch that every device sees (ops/collective/reduction_chunks.h); 0: not asked
  std::size_t first_bucket_bytes = 0, bucket_bytes = 0;

  int shards() const { return static_cast<int>(weights.size()); }
  int first_shard(int device) const;
};

// What was built, for those who want values of it.
struct Replicas {
  std::vector<std::vector<NodeId>> shard;   // [shard][node of the original]; for ReplicaKind::kSharded
  std::vector<std::vector<NodeId>> device;  // [device][node of the original]; for ReplicaKind::kReplicated
  std::vector<std::vector<Endpoint>> sums;  // [device][collective]; of joined rows as well
  int joined = 0;                           // collectives that join rows
  std::vector<std::size_t> bucket_bytes;    // of the gradients' all-reduces, in the order they start
};

// Turns the graph, a copy of the original with the same ids, into the replicated one.
Result<Replicas> replicate(Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout);

}  // namespace argosy
