#include "argosy/strategy/data_parallel/copies/node_copies.h"

#include "argosy/ops/collective/turns.h"
#include "argosy/strategy/data_parallel/copies/pinned_device.h"
#include "argosy/strategy/data_parallel/copies/random_shards.h"

namespace argosy {

namespace {

// Another seed for every shard. (The constant is the golden ratio times 2^64.)
std::int64_t seed_of_shard(std::int64_t seed, int shard) {
  std::uint64_t mixed = static_cast<std::uint64_t>(seed) + static_cast<std::uint64_t>(shard) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 31;
  return static_cast<std::int64_t>(mixed >> 1);
}

// Sets the attributes that depend on the shard and the device.
void settle(ReplicaBuild& b, NodeId id, int shard, int device) {
  place_on(b, id, device);
  const Node& n = b.graph.node(id);
  if (n.op->name == "_ShardWeight") {
    b.graph.set_attr(id, "weights", b.layout.weights);
    b.graph.set_attr(id, "index", std::int64_t{shard});
  }
  const auto *seed = n.attrs.find_as<std::int64_t>("seed"), *seed2 = n.attrs.find_as<std::int64_t>("seed2");
  if (shard > 0 && !n.op->draws_whole_stream && seed != nullptr && seed2 != nullptr && (*seed != 0 || *seed2 != 0)) {
    b.graph.set_attr(id, "seed2", seed_of_shard(*seed2, shard));
  }
}

// Marks what a shard computes with its turn, where devices have several shards.
void mark_turn(ReplicaBuild& b, NodeId id, int shard) {
  if (b.layout.has_turns()) b.graph.set_attr(id, kTurnAttr, std::int64_t{b.layout.turn_of(shard)});
}

Status copy_to_shards(ReplicaBuild& b, NodeId id) {
  const bool draws = draws_by_rows(b, id);
  // The same on all shards: a copy for the sake of its loop alone. It keeps its seed, and devices' nodes may read it.
  const bool same = b.plan.replica_kinds[id.index] != ReplicaKind::kSharded;
  for (int s = 0; s < b.layout.shards(); ++s) {
    NodeId& made = b.replicas.shard[s][id.index];
    const int d = b.layout.device_of[s];
    if (draws) {
      ARGOSY_ASSIGN_OR_RETURN(made, random_shard(b, id, s));
    } else if (s > 0) {
      ARGOSY_ASSIGN_OR_RETURN(made, copy_node(b, id, s, same ? 0 : s, d));
    }
    if (same && s == b.layout.first_shard(d)) b.replicas.device[d][id.index] = made;
  }
  if (!draws) settle(b, id, 0, 0);
  for (int s = 0; s < b.layout.shards(); ++s) mark_turn(b, b.replicas.shard[s][id.index], s);
  return ok_status();
}

}  // namespace

void place_on(ReplicaBuild& b, NodeId id, int device) {
  const Node& n = b.graph.node(id);
  if (pinned(n.device).type != "CPU") b.graph.set_device(id, b.layout.devices[device]);
  // The device is enough; a colocation group that reaches out of the replica would contradict it.
  b.graph.set_colocation(id, {});
}

Status copy_nodes(ReplicaBuild& b) {
  b.replicas.shard.assign(b.layout.shards(), std::vector<NodeId>(b.size));
  b.replicas.device.assign(b.layout.devices.size(), std::vector<NodeId>(b.size));
  for (std::int32_t i = 0; i < b.size; ++i) {
    const NodeId id{i};
    b.replicas.shard[0][i] = b.replicas.device[0][i] = id;
    if (b.replica_kind(id) == ReplicaKind::kSingleton) continue;
    if (b.replica_kind(id) == ReplicaKind::kReplicated) {
      for (int d = 1; d < b.devices(); ++d) {
        ARGOSY_ASSIGN_OR_RETURN(b.replicas.device[d][i], copy_node(b, id, d, 0, d));
      }
      settle(b, id, 0, 0);
      continue;
    }
    ARGOSY_RETURN_IF_ERROR(copy_to_shards(b, id));
  }
  return ok_status();
}

Result<NodeId> copy_node(ReplicaBuild& b, NodeId id, int replica, int shard, int device) {
  const Node& n = b.graph.node(id);
  NodeSpec spec{.name = b.graph.unique_name(str_cat(n.name, "/replica_", replica)),
                .op = n.op->name,
                .inputs = n.inputs,
                .attrs = n.attributes(),
                .device = n.device};
  const auto* shared = n.attrs.find_as<std::string>("shared_name");
  if (shared != nullptr && !shared->empty()) {
    spec.attrs.set("shared_name", str_cat(*shared, "/replica_", replica));
  }
  // Every copy of a loop iterates by itself.
  if (const auto* frame = n.attrs.find_as<std::string>("frame_name"); frame != nullptr) {
    spec.attrs.set("frame_name", str_cat(*frame, "/replica_", replica));
  }
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, b.graph.add_node(std::move(spec)));
  settle(b, made, shard, device);
  return made;
}

}  // namespace argosy
