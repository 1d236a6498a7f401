#include "argosy/strategy/loops.h"

#include <map>
#include <string>
#include <utility>

namespace argosy {

Loops find_loops(const Graph& graph, const std::vector<NodeId>& order) {
  Loops loops{.of = std::vector<int>(graph.size(), 0), .around = {0}, .depth = {0}};
  std::map<std::pair<int, std::string>, int> begun;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    int& loop = loops.of[id.index];
    const auto follow = [&](NodeId from) {
      if (loops.depth[loops.of[from.index]] > loops.depth[loop]) loop = loops.of[from.index];
    };
    for (const Endpoint e : n.inputs) follow(e.node);
    for (const NodeId c : n.controls) follow(c);
    if (n.op->flow == Flow::kExit) loop = loops.around[loop];
    if (n.op->flow != Flow::kEnter) continue;
    const int outer = loop;
    const int next = static_cast<int>(loops.around.size());
    const auto [at, fresh] = begun.try_emplace({outer, n.attrs.get_string("frame_name")}, next);
    loop = at->second;
    if (!fresh) continue;
    loops.around.push_back(outer);
    loops.depth.push_back(loops.depth[outer] + 1);
  }
  return loops;
}

std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order) {
  const Loops loops = find_loops(graph, order);
  std::vector<int> depths;
  for (const int loop : loops.of) depths.push_back(loops.depth[loop]);
  return depths;
}

}  // namespace argosy
