// Replicas: the copies of each node of the original graph in the data-parallel graph. Internal to strategy/.
#pragma once

#include <cstddef>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/strategy/data_parallel/replica_layout.h"

namespace argosy {

// How many copies a node has.
enum class ReplicaKind : char {
  kSingleton,   // once: feeds, initialisers, savers
  kReplicated,  // once per device: variables, updates, constants
  kSharded,     // once per shard: every node computed from the batch
};

struct Replicas {
  std::vector<std::vector<NodeId>> shard;   // [shard][node of the original]; for ReplicaKind::kSharded
  std::vector<std::vector<NodeId>> device;  // [device][node of the original]; for ReplicaKind::kReplicated
  std::vector<std::vector<Endpoint>> sums;  // [device][sum over shards]
  std::vector<std::size_t> bucket_bytes;    // of the gradients' all-reduces, in starting order
  std::vector<std::vector<int>> buckets;    // their members: positions among the sums
};

}  // namespace argosy
