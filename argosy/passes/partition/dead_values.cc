#include "argosy/passes/partition/dead_values.h"

#include <algorithm>

namespace argosy {

bool may_be_dead(const Graph& graph, const std::vector<char>& maybe_dead, Endpoint e) {
  if (maybe_dead[static_cast<std::size_t>(e.node.index)] != 0) return true;
  return e.index >= 0 && graph.node(e.node).op->flow == Flow::kSwitch;
}

Result<std::vector<char>> find_maybe_dead(const Graph& graph, const LoopFrames& frames) {
  std::vector<char> maybe_dead(static_cast<std::size_t>(graph.size()), 0);
  std::vector<char> maybe_dead_loops(frames.frames().size(), 0);  // some Enter of it may be dead
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    char& here = maybe_dead[static_cast<std::size_t>(id.index)];
    const int frame = frames.of(id);
    if (frame == LoopFrames::kNone || n.op->flow == Flow::kControlTrigger) continue;
    if (frame != LoopFrames::kRoot) {
      // A loop that may not be entered, or one in a loop, has exits that may be dead.
      const LoopFrames::Frame& loop = frames.frames()[static_cast<std::size_t>(frame)];
      here = n.op->flow != Flow::kExit || loop.parent != LoopFrames::kRoot ||
             maybe_dead_loops[static_cast<std::size_t>(frame)] != 0;
      continue;
    }
    const auto maybe_dead_input = [&](Endpoint e) { return may_be_dead(graph, maybe_dead, e); };
    if (n.op->flow == Flow::kMerge && !n.inputs.empty()) {
      here = std::all_of(n.inputs.begin(), n.inputs.end(), maybe_dead_input);
    } else {
      here = std::any_of(n.inputs.begin(), n.inputs.end(), maybe_dead_input);
    }
    for (const NodeId c : n.controls) here = here || maybe_dead[static_cast<std::size_t>(c.index)] != 0;
    if (n.op->flow == Flow::kEnter && here)
      maybe_dead_loops[static_cast<std::size_t>(frames.of_outputs(graph, id))] = 1;
  }
  return maybe_dead;
}

}  // namespace argosy
