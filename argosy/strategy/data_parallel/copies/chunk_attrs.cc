#include "argosy/strategy/data_parallel/copies/chunk_attrs.h"

#include "argosy/ops/collective/reduction_chunks.h"

namespace argosy {

void set_chunk_attrs(ReplicaBuild& b) {
  for (std::int32_t i = 0; i < b.size; ++i) {
    const NodeId id{i};
    const Node& n = b.graph.node(id);
    if (b.plan.replica_kinds[i] != ReplicaKind::kSharded || n.op->linear != Linear::kEach || n.op->elementwise)
      continue;
    const int axis = b.plan.axes.axis({id, 0});
    if (axis < BatchAxes::kNone) continue;
    b.graph.set_attr(id, axis == BatchAxes::kNone ? kReduceChunksAttr : kRowChunksAttr, std::int64_t{b.layout.chunks});
  }
}

}  // namespace argosy
