#include "argosy/sharding/lower/regions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace argosy {

LoopRegions find_regions(const Graph& graph, const std::vector<NodeId>& order) {
  LoopRegions r;
  const auto nodes = static_cast<std::size_t>(graph.size());
  r.frame.assign(nodes, 0);
  r.conditional.assign(nodes, 0);
  r.frames.resize(1);
  std::vector<int> depth(r.frames.size(), 0), branches(nodes, 0);
  std::map<std::pair<int, std::string>, int> by_name;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    int& frame = r.frame[static_cast<std::size_t>(id.index)];
    int& branch = branches[static_cast<std::size_t>(id.index)];
    bool closes = false;
    const auto follow = [&](NodeId from) {
      const Node& source = graph.node(from);
      if (source.op->closes_loop) {
        closes = true;
        return;
      }
      int f = r.frame[static_cast<std::size_t>(from.index)];
      if (source.op->flow == Flow::kExit) f = r.frames[static_cast<std::size_t>(f)].around;
      if (depth[static_cast<std::size_t>(f)] > depth[static_cast<std::size_t>(frame)]) frame = f;
      branch =
          std::max(branch, branches[static_cast<std::size_t>(from.index)] + (source.op->flow == Flow::kSwitch ? 1 : 0));
    };
    for (const Endpoint e : n.inputs) follow(e.node);
    for (const NodeId c : n.controls) follow(c);
    if (n.op->flow == Flow::kMerge && !closes) branch = std::max(0, branch - 1);
    if (n.op->flow == Flow::kExit) branch = std::max(0, branch - 1);
    if (n.op->flow == Flow::kEnter) {
      const std::string name = n.attrs.get_string("frame_name");
      const auto [at, fresh] = by_name.try_emplace({frame, name}, static_cast<int>(r.frames.size()));
      if (fresh) {
        r.frames.push_back({.name = name, .around = frame, .enter = id, .enters = {}});
        depth.push_back(depth[static_cast<std::size_t>(frame)] + 1);
      }
      r.frames[static_cast<std::size_t>(at->second)].enters.push_back(id);
      frame = at->second;
    }
    r.conditional[static_cast<std::size_t>(id.index)] = branch > 0 ? 1 : 0;
  }
  return r;
}

}  // namespace argosy
