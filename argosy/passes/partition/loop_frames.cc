#include "argosy/passes/partition/loop_frames.h"

#include <map>
#include <utility>

namespace argosy {

Result<LoopFrames> LoopFrames::find(const PlacedStep& placed) {
  const Graph& graph = placed.graph();
  LoopFrames all;
  const auto size = static_cast<std::size_t>(graph.size());
  all.frame_of_.assign(size, kNone);
  all.entered_.assign(size, kNone);
  std::vector<char> known(size, 0);
  std::map<std::pair<int, std::string>, int> children;  // (parent, frame_name)
  const auto child = [&](int parent, const AttrMap& attrs) {
    const auto [at, fresh] =
        children.try_emplace({parent, attrs.get_string("frame_name")}, static_cast<int>(all.frames_.size()));
    if (fresh) {
      all.frames_.push_back({.parent = parent,
                             .name = at->first.second,
                             .parallel = attrs.get_or<std::int64_t>("parallel_iterations", 10),
                             .cond = {},
                             .conds = 0});
    }
    return at->second;
  };
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    const auto i = static_cast<std::size_t>(id.index);
    known[i] = 1;
    if (placed.is_everywhere(id)) continue;
    int frame = kNone;
    const auto takes = [&](NodeId from) -> Status {
      if (known[static_cast<std::size_t>(from.index)] == 0) return ok_status();  // a loop's way back
      const int given = all.of_outputs(graph, from);
      if (given == kNone || given == frame) return ok_status();
      if (frame != kNone) {
        return invalid_argument("node '", n.name, "' takes inputs of different loops").with_id("ARG-LOOP-002");
      }
      frame = given;
      return ok_status();
    };
    for (const Endpoint e : n.inputs) ARGOSY_RETURN_IF_ERROR(takes(e.node));
    for (const NodeId c : n.controls) ARGOSY_RETURN_IF_ERROR(takes(c));
    if (frame == kNone) frame = kRoot;
    all.frame_of_[i] = frame;
    if (n.op->flow == Flow::kEnter) all.entered_[i] = child(frame, n.attrs);
    if (n.op->flow == Flow::kExit && frame == kRoot) {
      return invalid_argument("Exit '", n.name, "' is in no loop").with_id("ARG-LOOP-001");
    }
    if (n.op->flow == Flow::kLoopCond) {
      Frame& loop = all.frames_[static_cast<std::size_t>(frame)];
      loop.cond = ++loop.conds == 1 ? id : NodeId{};
    }
  }
  return all;
}

int LoopFrames::of_outputs(const Graph& graph, NodeId id) const {
  const int frame = of(id);
  switch (graph.node(id).op->flow) {
    case Flow::kEnter: return entered_[static_cast<std::size_t>(id.index)];
    case Flow::kExit: return frames_[static_cast<std::size_t>(frame)].parent;
    default: return frame;
  }
}

void LoopFrames::add(NodeId id, int frame) {
  const auto size = static_cast<std::size_t>(id.index) + 1;
  if (frame_of_.size() < size) {
    frame_of_.resize(size, kNone);
    entered_.resize(size, kNone);
  }
  frame_of_[size - 1] = frame;
}

}  // namespace argosy
