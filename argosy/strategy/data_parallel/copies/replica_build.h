// What the files of this folder share while one replicated graph is built.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "argosy/strategy/data_parallel/replicas.h"

namespace argosy {

struct ReplicaBuild {
  Graph& graph;
  const ReplicationPlan& plan;
  const ReplicaLayout& layout;
  const std::int32_t size;         // nodes of the original; everything after it is new
  std::vector<ReplicaKind> kinds;  // the plan's, and those that loops ask for (shard_loops.h)
  Replicas replicas = {};
  std::map<Endpoint, int> collective_of = {};              // by collective point, its place in the plan
  std::map<NodeId, std::vector<Value>> input_shards = {};  // by batch placeholder
  std::map<std::tuple<int, DType, bool>, std::optional<Value>> factors = {};  // by shard: what scales its terms

  int devices() const { return static_cast<int>(layout.devices.size()); }
  ReplicaKind replica_kind(NodeId id) const { return id.index < size ? kinds[id.index] : ReplicaKind::kSingleton; }
};

}  // namespace argosy
