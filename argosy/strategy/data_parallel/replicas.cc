#include "argosy/strategy/data_parallel/replicas.h"

#include "argosy/strategy/data_parallel/copies/chunk_attrs.h"
#include "argosy/strategy/data_parallel/copies/copy_checks.h"
#include "argosy/strategy/data_parallel/copies/copy_edges.h"
#include "argosy/strategy/data_parallel/copies/initializers.h"
#include "argosy/strategy/data_parallel/copies/input_shards.h"
#include "argosy/strategy/data_parallel/copies/joined_rows.h"
#include "argosy/strategy/data_parallel/copies/node_copies.h"
#include "argosy/strategy/data_parallel/copies/replica_build.h"
#include "argosy/strategy/data_parallel/copies/shard_loops.h"
#include "argosy/strategy/data_parallel/copies/shard_sums.h"

namespace argosy {

Result<Replicas> replicate(Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<ReplicaKind> kinds, kinds_with_loops(graph, plan, layout));
  ReplicaBuild b{.graph = graph,
                 .plan = plan,
                 .layout = layout,
                 .size = static_cast<std::int32_t>(plan.replica_kinds.size()),
                 .kinds = std::move(kinds)};
  ARGOSY_RETURN_IF_ERROR(check_pins(b));
  for (std::size_t k = 0; k < plan.collectives.size(); ++k)
    b.collective_of[plan.collectives[k].value] = static_cast<int>(k);
  if (layout.chunks > 0) set_chunk_attrs(b);
  ARGOSY_RETURN_IF_ERROR(copy_nodes(b));
  shard_inputs(b);
  add_all_reduces(b);
  join_rows(b);
  ARGOSY_RETURN_IF_ERROR(graph.status());
  connect_copies(b);
  ARGOSY_RETURN_IF_ERROR(mirror_initializers(b));
  // A sum that another member of its bucket is computed from would wait for itself.
  ARGOSY_RETURN_IF_ERROR(graph.topological_order().status());
  return std::move(b.replicas);
}

}  // namespace argosy
