#include "argosy/strategy/data_parallel/mirrors.h"

#include "argosy/ops/constant/constant.h"

namespace argosy {

Result<Value> refresh(Graph& graph, const std::vector<Mirror>& mirrors) {
  std::vector<Value> copies;
  for (const Mirror& m : mirrors) {
    const auto on = graph.device(m.device);
    const auto scope = graph.name_scope("data_parallel/refresh");
    const Value first = graph.value(Endpoint{m.first, 0}), mirror = graph.value(Endpoint{m.mirror, 0});
    if (first.dtype() == DType::kResource) {
      const Value read = graph.add("ReadVariableOp", {first}, {{"dtype", m.dtype}});
      copies.push_back(graph.add("AssignVariableOp", {mirror, read}));
    } else {
      const Value read = graph.add("Identity", {first});
      copies.push_back(graph.add("Assign", {mirror, read}, {{"validate_shape", false}}).control());
    }
  }
  const Value all = group(graph, copies, "data_parallel/refresh");
  if (!all.valid()) return graph.status();
  return all;
}

}  // namespace argosy
