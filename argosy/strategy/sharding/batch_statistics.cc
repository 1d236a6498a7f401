#include "argosy/strategy/sharding/batch_statistics.h"

#include <algorithm>

namespace argosy {

namespace {

bool takes_rows_together(const Graph& graph, const Node& mean) {
  if (mean.inputs.size() < 2) return true;
  const PartialInts* const axes = graph.known_ints(mean.inputs[1]);
  const PartialShape& shape = graph.shape(mean.inputs[0]);
  if (axes == nullptr) return true;
  return std::any_of(axes->begin(), axes->end(), [&](const std::optional<std::int64_t>& axis) {
    if (!axis) return true;
    return *axis == 0 || (*axis < 0 && (!shape.has_rank() ? *axis != -1 : *axis + shape.rank() == 0));
  });
}

}  // namespace

std::optional<NodeId> normalises_by_batch(const Graph& graph) {
  const auto uses = graph.consumers();
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.op->name.starts_with("FusedBatchNorm") && n.op->name.find("Grad") == n.op->name.npos &&
        n.attrs.get_or("is_training", false)) {
      return NodeId{i};
    }
    // Mean ─► StopGradient ─► SquaredDifference ─► Mean
    if (n.op->name != "StopGradient" || graph.node(n.inputs[0].node).op->name != "Mean") continue;
    const NodeId mean = n.inputs[0].node;
    for (const Graph::Use& use : uses[static_cast<std::size_t>(i)]) {
      if (graph.node(use.node).op->name != "SquaredDifference") continue;
      const auto& next = uses[static_cast<std::size_t>(use.node.index)];
      const bool of_variance = std::any_of(next.begin(), next.end(), [&](const Graph::Use& u) {
        return u.input == 0 && graph.node(u.node).op->name == "Mean";
      });
      if (of_variance && takes_rows_together(graph, graph.node(mean))) return mean;
    }
  }
  return std::nullopt;
}

}  // namespace argosy
