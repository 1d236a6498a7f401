#include "argosy/passes/partition/loop_entries.h"

#include <vector>

namespace argosy {

namespace {

// Nodes of a frame, and each loop in it as one node: is there a circle among them?
class LoopEntries {
 public:
  LoopEntries(const PlacedStep& placed, const LoopFrames& frames)
      : graph_(placed.graph()),
        placed_(placed),
        frames_(frames),
        after_(static_cast<std::size_t>(graph_.size()) + frames.frames().size()),
        pending_(after_.size(), 0) {
    for (std::size_t f = 1; f < frames_.frames().size(); ++f) depth_.push_back(depth_of(static_cast<int>(f)));
  }

  Status check() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      for (const Endpoint e : graph_.node(NodeId{i}).inputs) note_edge(e.node, NodeId{i});
      for (const NodeId c : graph_.node(NodeId{i}).controls) note_edge(c, NodeId{i});
    }
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n < pending_.size(); ++n) {
      if (pending_[n] == 0) ready.push_back(n);
    }
    std::size_t passed = 0;
    while (!ready.empty()) {
      const std::size_t n = ready.back();
      ready.pop_back();
      ++passed;
      for (const std::size_t next : after_[n]) {
        if (--pending_[next] == 0) ready.push_back(next);
      }
    }
    if (passed == pending_.size()) return ok_status();
    return waits_for_itself();
  }

 private:
  int depth_of(int frame) const {
    int depth = 0;
    for (; frame != LoopFrames::kRoot; frame = parent(frame)) ++depth;
    return depth;
  }
  int depth(int frame) const { return frame == LoopFrames::kRoot ? 0 : depth_[static_cast<std::size_t>(frame) - 1]; }
  int parent(int frame) const { return frames_.frames()[static_cast<std::size_t>(frame)].parent; }
  // The frame in which a node stands beside its loop: of Enter and Exit the outer one.
  int home(NodeId id) const {
    const int frame = frames_.of(id);
    return graph_.node(id).op->flow == Flow::kExit ? parent(frame) : frame;
  }
  std::size_t node_in(NodeId id, int frame) const {
    int at = home(id);
    if (at == frame) return static_cast<std::size_t>(id.index);
    while (parent(at) != frame) at = parent(at);
    return static_cast<std::size_t>(graph_.size()) + static_cast<std::size_t>(at);
  }

  void note_edge(NodeId from, NodeId to) {
    if (placed_.is_everywhere(from) || placed_.is_everywhere(to)) return;
    if (graph_.node(from).op->flow == Flow::kNextIteration) return;
    int common = home(from), other = home(to);
    while (common != other) {
      int& deeper = depth(common) >= depth(other) ? common : other;
      deeper = parent(deeper);
    }
    const std::size_t a = node_in(from, common), b = node_in(to, common);
    if (a == b) return;
    after_[a].push_back(b);
    ++pending_[b];
  }

  Status waits_for_itself() const {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (pending_[static_cast<std::size_t>(i)] == 0 || n.op->flow != Flow::kEnter) continue;
      return invalid_argument("it never runs: to enter a loop, what leaves the loop is needed")
          .with_id("ARG-LOOP-004")
          .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
          .with_hint("take it out of the way from there to the loop");
    }
    return invalid_argument("nodes of this step wait for each other").with_id("ARG-LOOP-004");
  }

  const Graph& graph_;
  const PlacedStep& placed_;
  const LoopFrames& frames_;
  std::vector<int> depth_;                       // by frame, from 1 on
  std::vector<std::vector<std::size_t>> after_;  // by node, then by frame: who comes after it
  std::vector<int> pending_;                     // likewise: edges from what has not been passed
};

}  // namespace

Status check_loop_entries(const PlacedStep& placed, const LoopFrames& frames) {
  if (frames.frames().size() == 1) return ok_status();
  return LoopEntries(placed, frames).check();
}

}  // namespace argosy
