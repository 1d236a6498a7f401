// A topological order that keeps to the one in which a graph was built.
#include <algorithm>
#include <utility>

#include "argosy/graph/graph.h"

namespace argosy {

namespace {

// Nodes after all they depend on, whatever a depth-first search from one node after the other finds first.
class DepthFirst {
 public:
  explicit DepthFirst(const NodeArray& nodes) : nodes_(nodes), state_(nodes.size(), kUnseen) {
    order_.reserve(nodes.size());
  }

  // False when `root` is on a cycle or depends on one: around() then says through which node.
  bool visit(std::int32_t root) {
    enter(root);
    while (!open_.empty()) {
      auto& [at, edge] = open_.back();
      const Node& n = nodes_[at];
      if (edge == n.inputs.size() + n.controls.size()) {
        state_[at] = kDone;
        order_.push_back(NodeId{at});
        open_.pop_back();
        continue;
      }
      const NodeId from = edge < n.inputs.size() ? n.inputs[edge].node : n.controls[edge - n.inputs.size()];
      ++edge;
      if (nodes_[from.index].op->closes_loop) continue;
      if (state_[from.index] == kOpen) {
        around_ = from.index;
        return false;
      }
      enter(from.index);
    }
    return true;
  }
  std::int32_t around() const { return around_; }
  std::vector<NodeId> take() { return std::move(order_); }

 private:
  enum State : char { kUnseen, kOpen, kDone };
  struct Open {
    std::int32_t node;
    std::size_t edge;  // the next to follow: inputs, then controls
  };

  void enter(std::int32_t i) {
    if (state_[i] != kUnseen) return;
    state_[i] = kOpen;
    open_.push_back({i, 0});
  }

  const NodeArray& nodes_;
  std::vector<char> state_;
  std::vector<Open> open_;
  std::vector<NodeId> order_;
  std::int32_t around_ = -1;
};

// Nodes that were added later than somebody who needs them, each with the first of these: (first user, node), sorted.
class DrawnForward {
 public:
  using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

  explicit DrawnForward(const NodeArray& nodes) : nodes_(nodes), met_(nodes.size(), 0) {}

  Pairs find() {
    // From the first user to the last: who first meets a node is the first who needs it.
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(nodes_.size()); ++i) {
      follow(i, i);
      while (!open_.empty()) {
        const std::int32_t at = open_.back();
        open_.pop_back();
        follow(at, i);
      }
    }
    std::sort(pairs_.begin(), pairs_.end());
    return std::move(pairs_);
  }

 private:
  void follow(std::int32_t at, std::int32_t user) {
    for (const Endpoint e : nodes_[at].inputs) meet(e.node.index, user);
    for (const NodeId c : nodes_[at].controls) meet(c.index, user);
  }
  void meet(std::int32_t from, std::int32_t user) {
    if (from <= user || met_[from] != 0 || nodes_[from].op->closes_loop) return;
    met_[from] = 1;
    pairs_.emplace_back(user, from);
    open_.push_back(from);
  }

  const NodeArray& nodes_;
  std::vector<char> met_;  // by node
  std::vector<std::int32_t> open_;
  Pairs pairs_;
};

}  // namespace

Result<std::vector<NodeId>> Graph::topological_order() const {
  if (in_order_) {
    std::vector<NodeId> order;
    order.reserve(nodes_.size());
    for (std::int32_t i = 0; i < size(); ++i) order.push_back(NodeId{i});
    return order;
  }
  // What is drawn forward comes just before its first user, in its own order: not in that in which users happen to name
  // it.
  const DrawnForward::Pairs drawn = DrawnForward(nodes_).find();
  DepthFirst built(nodes_);
  auto next = drawn.begin();
  for (std::int32_t i = 0; i < size(); ++i) {
    bool ended = true;
    for (; next != drawn.end() && next->first == i && ended; ++next) ended = built.visit(next->second);
    if (ended && built.visit(i)) continue;
    return invalid_argument("the graph has a cycle through node '", nodes_[built.around()].name, "'")
        .with_id("ARG-GRAPH-004");
  }
  return built.take();
}

}  // namespace argosy
