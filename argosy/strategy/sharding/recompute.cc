#include "argosy/strategy/sharding/recompute.h"

#include <utility>

namespace argosy {

namespace {

constexpr const char* kRecomputed = "/global_batch";  // ends the name of a copy

}  // namespace

bool is_recomputed(const Graph& graph, NodeId id, std::int32_t original) {
  const std::string_view name = graph.node(id).name;
  const std::size_t at = name.rfind(kRecomputed);
  // Not a node that was added behind a copy.
  return id.index >= original && at != std::string_view::npos && name.find('/', at + 1) == std::string_view::npos;
}

Endpoint GlobalRecompute::of(Endpoint e) const {
  const auto found = copies_.find(e);
  return found != copies_.end() ? found->second : e;
}

Status GlobalRecompute::add_collective(Endpoint e, PlacementKind kind) {
  if (has(e) || is_among(collectives_, e)) return ok_status();
  const auto root = graph_.name_scope("");
  const Value marker = graph_.add("Identity", {graph_.value(e)}, {}, str_cat(graph_.node(e.node).name, "/of_shard"));
  if (!marker.valid()) return graph_.status();
  graph_.set_device(marker.node(), graph_.node(e.node).device);
  copies_.emplace(e, marker.endpoint());
  collectives_.push_back({.value = marker.endpoint(), .kind = kind});
  return ok_status();
}

Status GlobalRecompute::recompute(NodeId id) {
  if (has({id, 0})) return ok_status();
  const Node& n = graph_.node(id);
  NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, kRecomputed)),
                .op = n.op->name,
                .attrs = n.attributes(),
                .device = n.device};
  for (const Endpoint e : n.inputs) spec.inputs.push_back(of(e));
  const auto outputs = static_cast<std::int32_t>(n.output_dtypes.size());
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
  for (const NodeId c : graph_.node(id).controls) graph_.add_control_input(made, c);
  for (std::int32_t k = 0; k < outputs; ++k) copies_.emplace(Endpoint{id, k}, Endpoint{made, k});
  return ok_status();
}

}  // namespace argosy
