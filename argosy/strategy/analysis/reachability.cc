#include "argosy/strategy/analysis/reachability.h"

#include <algorithm>
#include <utility>

#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls) {
  std::vector<char> seen(graph.size(), 0);
  std::vector<NodeId> stack;
  const auto visit = [&](NodeId id) {
    if (!seen[id.index]) stack.push_back(id);
    seen[id.index] = 1;
  };
  for (const NodeId id : roots) visit(id);
  while (!stack.empty()) {
    const Node& n = graph.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) visit(e.node);
    if (controls) {
      for (const NodeId c : n.controls) visit(c);
    }
  }
  return seen;
}

std::vector<char> descendants(const Graph& graph, const std::vector<NodeId>& from) {
  const auto uses = graph.consumers();
  std::vector<char> seen(graph.size(), 0);
  std::vector<NodeId> stack;
  const auto visit = [&](NodeId id) {
    if (!seen[id.index]) stack.push_back(id);
    seen[id.index] = 1;
  };
  for (const NodeId id : from) visit(id);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    for (const Graph::Use& use : uses[id.index]) {
      if (use.input >= 0) visit(use.node);
    }
  }
  return seen;
}

std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses) {
  std::vector<char> before(graph.size(), 0), both(graph.size(), 0);
  std::vector<NodeId> open = losses;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::exchange(before[id.index], 1)) continue;
    const Node& n = graph.node(id);
    for (const Endpoint e : n.inputs) {
      if (!n.op->blocks_gradient) open.push_back(e.node);
    }
  }
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    const auto is_behind = [&](Endpoint e) { return both[e.node.index] != 0; };
    const bool passes = !n.op->blocks_gradient && std::any_of(n.inputs.begin(), n.inputs.end(), is_behind);
    both[id.index] = before[id.index] && (is_variable(n) || passes);
  }
  return both;
}

std::vector<NodeId> batch_placeholders(const Graph& graph, const std::vector<NodeId>& from) {
  const std::vector<char> used = ancestors(graph, from, true);
  std::vector<NodeId> found;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!used[i] || !n.inputs.empty() || !n.op->name.starts_with("Placeholder")) continue;
    const PartialShape& shape = n.output_shapes[0];
    if (shape.has_rank() && shape.rank() > 0 && shape[0] < 0) found.push_back(NodeId{i});
  }
  return found;
}

}  // namespace argosy
