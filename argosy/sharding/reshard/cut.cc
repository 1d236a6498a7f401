#include "argosy/sharding/reshard/cut.h"

#include "argosy/ops/collective/shard_batch.h"

namespace argosy {

Result<Cut> cut_dim(const MeshAxis& axis, const Placement& p, std::int64_t size, int index) {
  const std::int64_t together = p.rounds * p.unit;
  if (together <= 0 || size % together != 0) {
    return invalid_argument("a dimension of size ", size, " cannot be sharded as ", to_string(p), ": ", size,
                            " is no multiple of ", together)
        .with_id("ARG-SHARD-012");
  }
  const std::vector<std::int64_t> equal(static_cast<std::size_t>(axis.size), 1);
  ARGOSY_ASSIGN_OR_RETURN(const auto items,
                          shard_batch(size / together, axis.weights.empty() ? equal : axis.weights, index));
  return Cut{p.rounds, size / p.rounds, items.first * p.unit, items.second * p.unit};
}

}  // namespace argosy
