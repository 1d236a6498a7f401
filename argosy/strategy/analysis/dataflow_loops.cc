#include "argosy/strategy/analysis/dataflow_loops.h"

#include <map>
#include <set>
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

namespace {

// Depends on the batch only through its shape.
bool follows_shapes(const Graph& graph, const BatchAxes& axes, Endpoint value) {
  if (!axes.depends(value.node)) return false;
  std::set<NodeId> seen{value.node};
  std::vector<NodeId> open{value.node};
  while (!open.empty()) {
    const Node& n = graph.node(open.back());
    open.pop_back();
    if (reads_shape_only(*n.op)) continue;
    bool further = false;
    for (const Endpoint e : n.inputs) {
      if (!axes.depends(e.node)) continue;
      further = true;
      if (seen.insert(e.node).second) open.push_back(e.node);
    }
    if (!further) return false;
  }
  return true;
}

}  // namespace

Status check_no_loop_over_examples(const Graph& graph, const BatchAxes& axes) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& predicate = graph.node(NodeId{i});
    if (predicate.op->flow != Flow::kLoopCond) continue;
    std::set<NodeId> seen{NodeId{i}};
    for (std::vector<NodeId> open{NodeId{i}}; !open.empty();) {
      const Node& n = graph.node(open.back());
      open.pop_back();
      if (n.op->flow == Flow::kEnter && follows_shapes(graph, axes, n.inputs[0])) {
        return unimplemented("'", predicate.name, "' iterates once for every example of the batch")
            .with_id("ARG-DP-012")
            .with_where(str_cat("node '", predicate.name, "'"))
            .with_hint("ops that work on the global batch at once");
      }
      if (n.op->flow == Flow::kEnter) continue;
      for (const Endpoint e : n.inputs) {
        if (seen.insert(e.node).second) open.push_back(e.node);
      }
    }
  }
  return ok_status();
}

std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order) {
  const Loops loops = find_loops(graph, order);
  std::vector<int> depths;
  for (const int loop : loops.of) depths.push_back(loops.depth[loop]);
  return depths;
}

}  // namespace argosy
