// A topological order that keeps to the one in which a graph was built.
#include <algorithm>
#include <numeric>
#include <span>

#include "argosy/graph/graph.h"

namespace argosy {

namespace {

// Nodes after all they depend on, whatever a depth-first search from one node after the other finds first.
class DepthFirst {
 public:
  explicit DepthFirst(std::span<const Node> nodes) : nodes_(nodes), state_(nodes.size(), kUnseen) {
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

  const std::span<const Node> nodes_;
  std::vector<char> state_;
  std::vector<Open> open_;
  std::vector<NodeId> order_;
  std::int32_t around_ = -1;
};

// By node: the first node, itself among them, that cannot be without it. `order` is topological.
std::vector<std::int32_t> first_users(std::span<const Node> nodes, std::span<const NodeId> order) {
  std::vector<std::int32_t> first(nodes.size());
  std::iota(first.begin(), first.end(), 0);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto lower = [&, user = first[at->index]](NodeId from) {
      if (!nodes[from.index].op->closes_loop) first[from.index] = std::min(first[from.index], user);
    };
    for (const Endpoint e : nodes[at->index].inputs) lower(e.node);
    for (const NodeId c : nodes[at->index].controls) lower(c);
  }
  return first;
}

}  // namespace

Result<std::vector<NodeId>> Graph::topological_order() const {
  // Graphs are mostly built in such an order, and a look at what each node reads tells.
  const auto comes_before = [&](NodeId from, std::int32_t i) {
    return from.index < i || nodes_[from.index].op->closes_loop;
  };
  bool in_order = true;
  for (std::int32_t i = 0; i < size() && in_order; ++i) {
    const Node& n = nodes_[i];
    in_order = std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return comes_before(e.node, i); }) &&
               std::all_of(n.controls.begin(), n.controls.end(), [&](NodeId c) { return comes_before(c, i); });
  }
  if (in_order) {
    std::vector<NodeId> order;
    order.reserve(nodes_.size());
    for (std::int32_t i = 0; i < size(); ++i) order.push_back(NodeId{i});
    return order;
  }
  DepthFirst any(nodes_);
  for (std::int32_t i = 0; i < size(); ++i) {
    if (any.visit(i)) continue;
    return invalid_argument("the graph has a cycle through node '", nodes_[any.around()].name, "'")
        .with_id("ARG-GRAPH-004");
  }
  // Those that were added later than somebody who needs them come just before the first of these, in their own order:
  // not in that in which it happens to name them.
  const std::vector<std::int32_t> first = first_users(nodes_, any.take());
  std::vector<std::int32_t> ends(nodes_.size() + 1, 0);  // of the nodes drawn forward to each
  for (std::int32_t i = 0; i < size(); ++i) {
    if (first[i] != i) ++ends[first[i] + 1];
  }
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  std::vector<std::int32_t> drawn(static_cast<std::size_t>(ends.back())), at(ends.begin(), ends.end() - 1);
  for (std::int32_t i = 0; i < size(); ++i) {
    if (first[i] != i) drawn[at[first[i]]++] = i;
  }
  DepthFirst built(nodes_);
  for (std::int32_t i = 0; i < size(); ++i) {
    if (first[i] != i) continue;
    for (std::int32_t k = ends[i]; k < ends[i + 1]; ++k) built.visit(drawn[k]);
    built.visit(i);
  }
  return built.take();
}

}  // namespace argosy
