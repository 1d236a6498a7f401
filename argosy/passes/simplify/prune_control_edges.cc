#include "argosy/passes/simplify/prune_control_edges.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

// Bounds that keep the pass linear: what is not settled within them stays as it is.
constexpr std::size_t kMostWaits = 16;   // control edges that take the place of one
constexpr int kMostSteps = 32;           // nodes looked at for one edge
constexpr std::size_t kMostReaders = 8;  // of a value, looked at for one edge

class Relaxer {
 public:
  Relaxer(StepGraph& step, std::vector<NodeId> order)
      : graph_(step.graph),
        order_(std::move(order)),
        uses_(graph_.consumers()),
        feeds_(step.feeds.begin(), step.feeds.end()),
        preserved_(step) {}

  // Is there a wait that may go? One for what only computes or is fed, or one that inputs may prove, themselves
  // computed.
  static bool has_work(const StepGraph& step) {
    const auto& nodes = step.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
      if (n.controls.empty()) return false;
      const auto computed = [&](Endpoint e) { return !step.graph.node(e.node).inputs.empty(); };
      if (may_wait_less(n) && std::any_of(n.inputs.begin(), n.inputs.end(), computed)) return true;
      return std::any_of(n.controls.begin(), n.controls.end(), [&](NodeId c) {
        return only_computes(step.graph.node(c)) ||
               std::find(step.feeds.begin(), step.feeds.end(), c) != step.feeds.end();
      });
    });
  }

  int run() {
    drop_unread();
    grow_trunk();
    int relaxed = dropped_;
    for (const NodeId id : order_) {
      const Node& n = graph_.node(id);
      if (n.controls.empty() || !may_wait_less(n)) continue;
      const std::vector<NodeId> controls = n.controls;
      const auto before = controls.size();
      for (const NodeId c : controls) {
        int budget = kMostSteps;
        if (implied(c, id, budget)) graph_.remove_control_input(id, c);
      }
      relaxed += graph_.node(id).controls.size() < before ? 1 : 0;
    }
    return relaxed;
  }

 private:
  static bool plain(const Node& n) { return n.op->flow == Flow::kNone && n.op->calls == Calls::kNothing; }

  static bool may_wait_less(const Node& n) { return plain(n) && !n.op->async && !n.inputs.empty(); }
  static bool only_computes(const Node& n) {
    return plain(n) && !n.op->stateful && !n.op->async && !n.op->collective && n.output_refs.empty();
  }

  // Whether it ran matters to nobody but the readers of its values.
  bool without_effect(NodeId id) const {
    const Node& n = graph_.node(id);
    if (!only_computes(n)) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) {
      return graph_.node(e.node).op->flow == Flow::kNone && !graph_.node(e.node).output_is_ref(e.index);
    });
  }

  // From the last node to the first, so that whole chains go.
  void drop_unread() {
    std::vector<int> readers(static_cast<std::size_t>(graph_.size()), 0);
    for (const Node& n : graph_.nodes()) {
      for (const Endpoint e : n.inputs) ++readers[e.node.index];
    }
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const NodeId id = *at;
      if (readers[id.index] > 0 || preserved_.contains(id) || graph_.node(id).inputs.empty() || !without_effect(id)) {
        continue;
      }
      std::vector<NodeId> waits = graph_.node(id).controls;
      for (const Endpoint e : graph_.node(id).inputs) waits.push_back(e.node);
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      if (waits.size() > kMostWaits) continue;
      for (const NodeId w : waiters_of(id)) {
        graph_.remove_control_input(w, id);
        for (const NodeId wait : waits) wait_for(w, wait);
        ++dropped_;
      }
      for (const Endpoint e : graph_.node(id).inputs) --readers[e.node.index];
    }
  }

  void wait_for(NodeId node, NodeId wait) {
    const auto& controls = graph_.node(node).controls;
    if (std::find(controls.begin(), controls.end(), wait) == controls.end()) {
      graph_.add_control_input(node, wait);
      more_waiters_[wait].push_back(node);
    }
  }

  std::vector<NodeId> waiters_of(NodeId id) const {
    std::vector<NodeId> all;
    if (const auto more = more_waiters_.find(id); more != more_waiters_.end()) all = more->second;
    for (const Graph::Use& u : uses_[id.index]) {
      if (u.input < 0) all.push_back(u.node);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  // One input of every node such that the paths are long: the trunk that most of a network hangs on. Whether a node is
  // on the path from another to the root is then a comparison of two numbers. Control flow begins a tree of its own, so
  // that along a path a dead value makes all that follows dead.
  void grow_trunk() {
    const std::size_t size = order_.size();
    std::vector<int> depth(size, 0);
    std::vector<std::int32_t> parent(size, -1);
    for (const NodeId id : order_) {
      const Node& n = graph_.node(id);
      if (!plain(n)) continue;
      for (const Endpoint e : n.inputs) {
        if (!plain(graph_.node(e.node)) || depth[e.node.index] + 1 <= depth[id.index]) continue;
        depth[id.index] = depth[e.node.index] + 1;
        parent[id.index] = e.node.index;
      }
    }
    number_trees(parent);
  }

  // first_ and last_ by a walk of the trees: those of a node enclose those of all below it.
  void number_trees(const std::vector<std::int32_t>& parent) {
    const std::size_t size = parent.size();
    first_.assign(size, 0);
    last_.assign(size, 0);
    std::vector<int> below(size, 1);
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (parent[at->index] >= 0) below[parent[at->index]] += below[at->index];
    }
    std::vector<int> next(size, 0);
    int next_root = 0;
    for (const NodeId id : order_) {
      int& from = parent[id.index] >= 0 ? next[parent[id.index]] : next_root;
      first_[id.index] = from;
      last_[id.index] = from + below[id.index];
      from += below[id.index];
      next[id.index] = first_[id.index] + 1;
    }
  }
  bool is_above(NodeId above, NodeId below) const {
    return first_[above.index] <= first_[below.index] && first_[below.index] < last_[above.index];
  }

  // An input of `node` is computed from a value of `before`, as far as the trees tell.
  bool comes_after(NodeId node, NodeId before) const {
    for (const Endpoint e : graph_.node(node).inputs) {
      if (plain(graph_.node(e.node)) && is_above(before, e.node)) return true;
    }
    return false;
  }

  // `node` would run after all effects that `c` comes after, were there no control edge between them. Certificates are
  // data edges, which this pass leaves as they are.
  bool implied(NodeId c, NodeId node, int& budget) const {
    if (--budget < 0 || c == node) return false;
    const Node& n = graph_.node(c);
    if (!plain(n)) return false;
    if (feeds_.contains(c) || comes_after(node, c)) return true;
    // Beside the trunk: a weight's value hangs on it by the layer that reads it.
    const auto readers = uses_[c.index];
    if (readers.size() <= kMostReaders) {
      for (const Graph::Use& u : readers) {
        if (u.input >= 0 && plain(graph_.node(u.node)) && u.node != node && comes_after(node, u.node)) return true;
      }
    }
    if (!without_effect(c) || n.inputs.size() + n.controls.size() > kMostWaits) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return implied(e.node, node, budget); }) &&
           std::all_of(n.controls.begin(), n.controls.end(), [&](NodeId w) { return implied(w, node, budget); });
  }

  Graph& graph_;
  const std::vector<NodeId> order_;
  const Graph::Uses uses_;
  const std::set<NodeId> feeds_;
  const PreservedNodes preserved_;
  std::unordered_map<NodeId, std::vector<NodeId>> more_waiters_;  // than uses_ knows of
  std::vector<int> first_, last_;
  int dropped_ = 0;
};

}  // namespace

Result<int> prune_control_edges(StepGraph& step) {
  if (!Relaxer::has_work(step)) return 0;
  ARGOSY_ASSIGN_OR_RETURN(auto order, step.graph.topological_order());
  return Relaxer(step, std::move(order)).run();
}

}  // namespace argosy
