#include "argosy/passes/place/resource_users.h"

namespace argosy {

namespace {

bool is_handle(const Graph& graph, Endpoint e) {
  return e.index >= 0 && (graph.dtype(e) == DType::kResource || graph.node(e.node).output_is_ref(e.index));
}

bool runs_a_kernel(const OpDef& op) { return op.flow == Flow::kNone && !op.forwards && op.calls == Calls::kNothing; }

}  // namespace

void ResourceUsers::look_at(const Graph& graph) {
  const auto known = static_cast<std::int32_t>(source_.size());
  source_.resize(static_cast<std::size_t>(graph.size()));
  users_.resize(source_.size());
  for (std::int32_t i = known; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const bool gives = !n.output_dtypes.empty() && is_handle(graph, {NodeId{i}, 0});
    if (gives) source_[static_cast<std::size_t>(i)] = NodeId{i};
    for (const Endpoint e : n.inputs) {
      if (!is_handle(graph, e)) continue;
      const NodeId source = source_[static_cast<std::size_t>(e.node.index)];
      if (source.index < 0) continue;  // what comes round a loop
      if (gives) source_[static_cast<std::size_t>(i)] = source;
      // Whoever takes a reference for its value reads the variable, wherever that is.
      const bool takes = graph.dtype(e) == DType::kResource || n.op->has_ref_input();
      if (takes && runs_a_kernel(*n.op)) users_[static_cast<std::size_t>(source.index)].push_back(NodeId{i});
    }
  }
}

std::span<const NodeId> ResourceUsers::of(NodeId source) const {
  const auto at = static_cast<std::size_t>(source.index);
  return at < users_.size() ? std::span<const NodeId>(users_[at]) : std::span<const NodeId>();
}

}  // namespace argosy
