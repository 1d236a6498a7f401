#include "argosy/strategy/data_parallel/copies/joined_rows.h"

#include "argosy/ops/constant/constant.h"

namespace argosy {

void join_rows(ReplicaBuild& b) {
  for (std::size_t k = 0; k < b.plan.collectives.size() && b.layout.shards() > 1; ++k) {
    const CollectivePoint& c = b.plan.collectives[k];
    if (c.kind != PlacementKind::kShard) continue;
    for (int d = 0; d < b.devices(); ++d) {
      const auto on = b.graph.device(b.layout.devices[d]);
      std::vector<Value> parts;
      for (const auto& copies : b.replicas.shard)
        parts.push_back({&b.graph, copies[c.value.node.index], c.value.index});
      parts.push_back(constant(b.graph, std::int32_t{b.plan.axes.axis(c.value)}));
      const Value joined = b.graph.add("ConcatV2", parts, {}, str_cat(b.graph.node(c.value.node).name, "/joined"));
      b.replicas.sums[d][k] = joined.endpoint();
    }
    ++b.replicas.joined;
  }
}

}  // namespace argosy
