#include "argosy/strategy/data_parallel/copies/initializers.h"

#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/strategy/data_parallel/copies/node_copies.h"

namespace argosy {

Status mirror_initializers(ReplicaBuild& b) {
  for (std::int32_t i = 0; i < b.size; ++i) {
    const NodeId id{i};
    if (b.replica_kind(id) != ReplicaKind::kSingleton || !writes_variable(b.graph, b.graph.node(id))) continue;
    const auto variable = variable_behind(b.graph, b.graph.node(id).inputs[0]);
    if (!variable || b.replica_kind(*variable) != ReplicaKind::kReplicated) continue;
    for (int d = 1; d < b.devices(); ++d) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId made, copy_node(b, id, d, 0, d));
      b.graph.set_input(made, 0, {b.replicas.device[d][variable->index], 0});
      for (const NodeId c : b.graph.node(id).controls) b.graph.add_control_input(made, c);
    }
    for (int d = 1; d < b.devices(); ++d) {
      b.graph.add_control_input(id, NodeId{b.graph.size() - d});
    }
  }
  return ok_status();
}

}  // namespace argosy
