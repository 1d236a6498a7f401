#include "argosy/strategy/analysis/reachability.h"

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

}  // namespace argosy
