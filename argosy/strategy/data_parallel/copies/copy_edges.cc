#include "argosy/strategy/data_parallel/copies/copy_edges.h"

namespace argosy {

namespace {

// The endpoint that replaces an original one for a node of shard s (s >= 0), or for a device's own node (s < 0).
Endpoint resolve(const ReplicaBuild& b, Endpoint e, int s, int d) {
  if (const auto point = b.collective_of.find(e); point != b.collective_of.end())
    return b.replicas.sums[d][point->second];
  const int shard = s >= 0 ? s : b.layout.first_shard(d);
  if (const auto input_shard = b.input_shards.find(e.node); input_shard != b.input_shards.end())
    return input_shard->second[shard].endpoint();
  switch (b.replica_kind(e.node)) {
    case ReplicaKind::kSharded: return {b.replicas.shard[shard][e.node.index], e.index};
    case ReplicaKind::kReplicated: return {b.replicas.device[d][e.node.index], e.index};
    case ReplicaKind::kSingleton: return e;
  }
  return e;
}

// Adds control inputs: `to` waits for the copies of `from`. A device's own node waits for every shard of the device.
void follow(ReplicaBuild& b, NodeId to, NodeId from, int s, int d) {
  if (b.replica_kind(from) == ReplicaKind::kReplicated)
    return b.graph.add_control_input(to, b.replicas.device[d][from.index]);
  if (b.replica_kind(from) == ReplicaKind::kSingleton) return b.graph.add_control_input(to, from);
  for (int k = 0; k < b.layout.shards(); ++k) {
    if (k == s || (s < 0 && b.layout.device_of[k] == d)) {
      b.graph.add_control_input(to, b.replicas.shard[k][from.index]);
    }
  }
}

void connect(ReplicaBuild& b, NodeId id) {
  const std::vector<Endpoint> inputs = b.graph.node(id).inputs;
  const std::vector<NodeId> controls = b.graph.node(id).controls;
  const auto link = [&](NodeId to, int s, int d) {
    const bool asks_global = b.graph.node(to).op->name == "_ShardWeight";  // it asks the global batch
    for (std::size_t i = 0; i < inputs.size() && !asks_global; ++i) {
      b.graph.set_input(to, static_cast<int>(i), resolve(b, inputs[i], s, d));
    }
    for (const NodeId c : controls) follow(b, to, c, s, d);
  };
  switch (b.replica_kind(id)) {
    case ReplicaKind::kSingleton:
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (b.collective_of.contains(inputs[i]))
          b.graph.set_input(id, static_cast<int>(i), resolve(b, inputs[i], -1, 0));
      }
      for (const NodeId c : controls) {
        for (int d = 0; d < b.devices(); ++d) follow(b, id, c, -1, d);
      }
      return;
    case ReplicaKind::kReplicated:
      for (int d = 0; d < b.devices(); ++d) link(b.replicas.device[d][id.index], -1, d);
      return;
    case ReplicaKind::kSharded:
      for (int s = 0; s < b.layout.shards(); ++s) link(b.replicas.shard[s][id.index], s, b.layout.device_of[s]);
      return;
  }
}

}  // namespace

void connect_copies(ReplicaBuild& b) {
  for (std::int32_t i = 0; i < b.size; ++i) connect(b, NodeId{i});
}

}  // namespace argosy
