#include "argosy/passes/simplify/connect.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {

namespace {

bool depends_on(const Graph& graph, NodeId node, NodeId other) {
  std::vector<char> seen(static_cast<std::size_t>(graph.size()), 0);
  std::vector<NodeId> open;
  const auto reach = [&](NodeId id) {
    if (std::exchange(seen[static_cast<std::size_t>(id.index)], 1) == 0) open.push_back(id);
  };
  reach(node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == other) return true;
    for (const Endpoint e : graph.node(id).inputs) reach(e.node);
    for (const NodeId c : graph.node(id).controls) reach(c);
  }
  return false;
}

// Makes all readers of `value` read `instead`. If `value` is a placeholder, nodes that wait for it wait for `instead`.
Status turn_readers(Graph& graph, Endpoint value, const Value& instead) {
  const bool waits = graph.node(value.node).op->only_fed;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& reader = graph.node(NodeId{i});
    for (std::size_t k = 0; k < reader.inputs.size(); ++k) {
      if (reader.inputs[k] != value) continue;
      if (instead.dtype() != graph.dtype(value)) {
        return invalid_argument("Input ", k, " of node ", reader.name, " was passed ", dtype_name(instead.dtype()),
                                " from ", instead.name(), " incompatible with expected ",
                                dtype_name(graph.dtype(value)), ".");
      }
      graph.set_input(NodeId{i}, static_cast<int>(k), instead.endpoint());
    }
    if (waits && std::find(reader.controls.begin(), reader.controls.end(), value.node) != reader.controls.end()) {
      graph.replace_control_input(NodeId{i}, value.node, instead.node());
    }
  }
  return ok_status();
}

}  // namespace

Result<Graph> connect(const Graph& graph, std::span<const Connection> connections) {
  Graph connected = graph.clone();
  for (const auto& [to, from] : connections) {
    check_interrupted();
    const std::string name(connected.node(to.node).name);
    if (depends_on(connected, from.node, to.node)) {
      return invalid_argument("Requested Tensor connection between nodes \"", name, "\" and \"",
                              connected.node(from.node).name, "\" would create a cycle.");
    }
    const Value instead = identity(connected.value(from), str_cat("_identity_", name, "_", to.index));
    ARGOSY_RETURN_IF_ERROR(Status(connected.status()));
    ARGOSY_RETURN_IF_ERROR(turn_readers(connected, to, instead));
  }
  return connected;
}

}  // namespace argosy
