#include "argosy/strategy/loops.h"

#include <algorithm>

namespace argosy {

std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<int> depths(graph.size(), 0);
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    int& depth = depths[id.index];
    for (const Endpoint e : n.inputs) depth = std::max(depth, depths[e.node.index]);
    for (const NodeId c : n.controls) depth = std::max(depth, depths[c.index]);
    if (n.op->flow == Flow::kEnter) ++depth;
    if (n.op->flow == Flow::kExit && depth > 0) --depth;
  }
  return depths;
}

}  // namespace argosy
