#include "argosy/sharding/reshard/cost.h"

namespace argosy {

ReshardCost cost_of(const Reshard& reshard, const Assignment& assignment, const Sizes& sizes, const Mesh& mesh,
                    std::int64_t batch) {
  double bytes = sizes.bytes(reshard.value, batch);
  const Layout& layout = assignment.layout(reshard.value);
  for (std::size_t axis = 0; axis < layout.size(); ++axis) {
    if (static_cast<int>(axis) != reshard.axis && layout[axis].is_shard()) bytes /= mesh.axes[axis].size;
  }
  const Redistribution how = redistribution(reshard.from, reshard.to);
  return {how, bytes_moved(how, mesh.axes[static_cast<std::size_t>(reshard.axis)], bytes)};
}

double bytes_moved(const Assignment& assignment, const Sizes& sizes, const Mesh& mesh, std::int64_t batch) {
  double bytes = 0;
  for (const Reshard& r : assignment.reshards) bytes += cost_of(r, assignment, sizes, mesh, batch).bytes;
  return bytes;
}

}  // namespace argosy
