#include "argosy/strategy/data_parallel/copies/random_shards.h"

#include "argosy/ops/random/random_shard.h"
#include "argosy/strategy/data_parallel/copies/node_copies.h"

namespace argosy {

bool draws_by_rows(const ReplicaBuild& b, NodeId id) {
  const Node& n = b.graph.node(id);
  if (b.layout.shards() == 1 || b.plan.replica_kinds[id.index] != ReplicaKind::kSharded || n.output_dtypes.size() != 1)
    return false;
  const bool chance = n.attrs.find("seed") != nullptr && n.attrs.get_int("seed") == 0 && n.attrs.get_int("seed2") == 0;
  return !chance && b.plan.axes.repeats({id, 0}) > 0 && b.plan.axes.rows_per_example({id, 0}) > 0 &&
         b.graph.ops().find(kShardPrefix + n.op->name) != nullptr;
}

Result<NodeId> random_shard(ReplicaBuild& b, NodeId id, int shard) {
  const Node& n = b.graph.node(id);
  NodeSpec spec{.name = b.graph.unique_name(str_cat(n.name, "/shard_", shard)),
                .op = kShardPrefix + n.op->name,
                .inputs = n.inputs,
                .attrs = n.attributes(),
                .device = n.device};
  spec.inputs.push_back({b.plan.inputs[0], 0});
  spec.attrs.set("B", b.graph.dtype(spec.inputs.back()));
  spec.attrs.set("rows", b.plan.axes.rows_per_example({id, 0}));
  spec.attrs.set("axis", std::int64_t{b.plan.axes.axis({id, 0})});
  spec.attrs.set("repeats", b.plan.axes.repeats({id, 0}));
  spec.attrs.set("weights", b.layout.weights);
  spec.attrs.set("index", std::int64_t{shard});
  spec.attrs.set("stream", std::string(n.name));
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, b.graph.add_node(std::move(spec)));
  place_on(b, made, b.layout.device_of[shard]);
  return made;
}

}  // namespace argosy
