#include "argosy/passes/simplify/prune.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "argosy/passes/place/colocate_gradients.h"
#include "argosy/passes/simplify/any_shape.h"

namespace argosy {

namespace {

// Nodes that are brought into the cache before they are read.
constexpr int kAhead = 4;
// Moving all nodes closer together pays where more than one in so many died.
constexpr std::size_t kFewDead = 8;

// Nodes reachable backwards from the roots without passing through a fed endpoint. Looked for against a topological
// order, in which memory is read from one end to the other; only what is met out of order is followed at once.
class NeededNodes {
 public:
  // `ran`: as StepSignature's; `replaced`: as StepGraph's.
  NeededNodes(const Graph& graph, const std::vector<NodeId>& order, std::span<const Endpoint> feeds,
              std::span<const NodeId> ran, std::span<const std::pair<NodeId, NodeId>> replaced)
      : graph_(graph),
        feeds_(feeds.begin(), feeds.end()),
        ran_(ran.begin(), ran.end()),
        fed_(static_cast<std::size_t>(graph.size()), 0),
        state_(static_cast<std::size_t>(graph.size()), kUnseen) {
    for (const Endpoint e : feeds) fed_[static_cast<std::size_t>(e.node.index)] = 1;
    if (!replaced.empty()) instead_.resize(state_.size());
    for (const auto& [old, fresh] : replaced) {
      NodeId& instead = instead_[static_cast<std::size_t>(old.index)];
      if (instead.index < 0) instead = fresh;
    }
    if (!std::is_sorted(order.begin(), order.end())) {
      position_.resize(order.size());
      for (std::size_t p = 0; p < order.size(); ++p) position_[order[p].index] = static_cast<std::int32_t>(p);
    }
  }

  // By node: not 0 when it is needed.
  std::vector<char> find(const StepSignature& signature, const std::vector<NodeId>& order) {
    at_ = static_cast<std::int32_t>(order.size());
    for (const Endpoint e : signature.fetches) {
      if (e.index == Value::kControl || !is_fed(e)) need(e.node);
    }
    for (const NodeId t : signature.targets) need(t);
    while (at_ > 0) {
      if (at_ > kAhead) graph_.prefetch(order[static_cast<std::size_t>(at_ - kAhead)]);
      const NodeId id = order[static_cast<std::size_t>(--at_)];
      if (state_[id.index] == kNeeded) follow(id);
      while (!late_.empty()) {
        const NodeId late = late_.back();
        late_.pop_back();
        if (state_[late.index] == kNeeded) follow(late);
      }
    }
    return std::move(state_);
  }

 private:
  enum State : char { kUnseen = 0, kNeeded = 1, kFollowed = 2 };

  bool is_fed(Endpoint e) const { return fed_[e.node.index] != 0 && feeds_.contains(e); }
  // As in TensorFlow, waiting for a placeholder that is fed is waiting for nothing. Any other node whose value is fed runs
  // for who waits for it, and so do the effects before it.
  bool nobody_waits_for(NodeId id) const {
    if (ran_.contains(id)) return true;
    if (fed_[id.index] == 0) return false;
    return graph_.node(id).op->only_fed && feeds_.contains({id, 0});
  }

  void need(NodeId id) {
    if (state_[id.index] != kUnseen) return;
    state_[id.index] = kNeeded;
    const std::int32_t position = position_.empty() ? id.index : position_[static_cast<std::size_t>(id.index)];
    if (position >= at_) late_.push_back(id);
  }

  void follow(NodeId id) {
    state_[id.index] = kFollowed;
    const Node& n = graph_.node(id);
    if (n.op->collective) need_group(id);
    for (const Endpoint e : n.inputs) {
      if (!is_fed(e)) need(e.node);
    }
    for (const NodeId c : n.controls) {
      if (!instead_.empty() && instead_[static_cast<std::size_t>(c.index)].index >= 0) {
        need(instead_[static_cast<std::size_t>(c.index)]);
      } else if (!nobody_waits_for(c)) {
        need(c);
      }
    }
  }

  // "" for those on their own, and for those that cannot tell: resolve_collective_groups() says what is wrong with them.
  std::string group_of(const Node& n) const {
    if (n.op->group == nullptr) return n.attrs.get_or<std::string>("group", "");
    std::vector<const PartialInts*> ints;
    for (const Endpoint e : n.inputs) ints.push_back(graph_.known_ints(e));
    const auto member = n.op->group(n.attrs, ints);
    return member.ok() ? member->group : std::string();
  }

  // A collective ends only when all of its group take part, whoever asked for it.
  void need_group(NodeId id) {
    if (groups_.empty()) {
      for (std::int32_t i = 0; i < graph_.size(); ++i) {
        const Node& n = graph_.node(NodeId{i});
        if (n.op->collective) groups_[group_of(n)].push_back(NodeId{i});
      }
    }
    const std::string group = group_of(graph_.node(id));
    if (group.empty()) return;  // on its own
    for (const NodeId member : groups_[group]) need(member);
  }

  const Graph& graph_;
  const std::unordered_set<Endpoint> feeds_;
  const std::set<NodeId> ran_;
  std::vector<char> fed_;               // by node: some output is
  std::vector<char> state_;             // by node
  std::vector<NodeId> instead_;         // by node: what stands in its place; empty when nothing was replaced
  std::vector<std::int32_t> position_;  // by node: in the order; empty when that is the nodes' own
  std::int32_t at_ = 0;                 // nodes from this position on have been passed
  std::vector<NodeId> late_;            // needed, passed and not followed
  std::unordered_map<std::string, std::vector<NodeId>> groups_;
};

class Copier {
 public:
  Copier(const Graph& from, StepGraph& to)
      : from_(from),
        to_(to),
        without_shape_(from.ops()),
        copies_(static_cast<std::size_t>(from.size())),
        fed_(copies_.size(), 0) {}

  Status add_feeds(const StepSignature& signature) {
    for (std::size_t i = 0; i < signature.feeds.size(); ++i) {
      const Endpoint e = signature.feeds[i];
      const Node& fed = from_.node(e.node);
      const auto merged = from_.shape(e).merge(signature.feed_shapes[i]);
      if (!merged.ok()) {
        return invalid_argument("Cannot feed a value of shape ", signature.feed_shapes[i], " for '", fed.name, ":",
                                e.index, "', which has shape ", from_.shape(e))
            .with_id("ARG-FEED-002");
      }
      std::string name = e.index == 0 ? str_cat("_feed/", fed.name) : str_cat("_feed/", fed.name, "_", e.index);
      while (from_.find(name) || to_.graph.find(name)) name += "_";
      NodeSpec spec{
          .name = std::move(name), .op = "_Arg", .attrs = {{"T", from_.dtype(e)}, {"index", i}, {"shape", *merged}}};
      ARGOSY_ASSIGN_OR_RETURN(const NodeId id, to_.graph.add_node(std::move(spec)));
      to_.feeds.push_back(id);
      replaced_[e] = {id, 0};
      fed_[e.node.index] = 1;
    }
    return ok_status();
  }

  // `any_shape`: one of variables_of_any_shape(). Its copy says no shape, and so does what reads it.
  Status copy(NodeId id, bool any_shape) {
    const Node& n = from_.node(id);
    SmallVector<Endpoint, 8> inputs;
    SmallVector<NodeId, 8> controls;
    std::vector<Endpoint> back_edges;
    for (const Endpoint e : n.inputs) {
      const Endpoint input = map(e);
      if (input.node.index < 0) {
        back_edges.push_back(e);
      } else {
        inputs.push_back(input);
      }
    }
    for (const NodeId c : n.controls) {
      if (copies_[c.index].index >= 0) controls.push_back(copies_[c.index]);
    }
    // The shape of a loop's Merge was settled when the loop was built: its back edge is not there yet.
    auto added = any_shape ? add_without_shape(n, controls)
                           : to_.graph.add_copy(from_, id, inputs, controls, !back_edges.empty());
    if (!added.ok()) return std::move(added).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    copies_[id.index] = *added;
    if (const std::string_view request = from_.asks_for_devices() ? forward_request(from_, n) : ""; !request.empty()) {
      to_.graph.set_device(*added, request);
      to_.graph.set_attr(*added, kFollowsForward, true);
    }
    for (const Endpoint e : back_edges) open_.push_back({*added, e});
    return ok_status();
  }

  // A gradient reads what lies far away: its shapes are asked for when it is copied.
  void expect_inputs(NodeId id) const {
    for (const Endpoint e : from_.node(id).inputs) {
      const NodeId copy = copies_[e.node.index];
      if (copy.index >= 0) to_.graph.prefetch(copy);
    }
  }

  Status close_loops() {
    for (const auto& [merge, from] : open_) {
      const Endpoint input = map(from);
      if (input.node.index < 0) return internal_error("a loop's back edge was not copied");
      to_.graph.add_input(merge, input);
    }
    return ok_status();
  }

  Endpoint map(Endpoint e) const {
    if (fed_[e.node.index] != 0) {
      if (const auto found = replaced_.find(e); found != replaced_.end()) return found->second;
    }
    return {copies_[e.node.index], e.index};
  }
  NodeId map(NodeId id) const { return copies_[id.index]; }

 private:
  // Through a graph of its own: what is known of a handle comes with its node.
  Result<NodeId> add_without_shape(const Node& variable, std::span<const NodeId> controls) {
    NodeSpec spec{.name = std::string(variable.name),
                  .op = variable.op->name,
                  .attrs = variable.attributes(),
                  .device = std::string(variable.device)};
    spec.attrs.set("shape", PartialShape::unknown());
    ARGOSY_ASSIGN_OR_RETURN(const NodeId id, without_shape_.add_node(std::move(spec)));
    return to_.graph.add_copy(without_shape_, id, {}, controls, false);
  }

  const Graph& from_;
  StepGraph& to_;
  Graph without_shape_;  // variables
  std::vector<NodeId> copies_;
  std::vector<char> fed_;  // by node: some output is in replaced_
  std::unordered_map<Endpoint, Endpoint> replaced_;
  std::vector<std::pair<NodeId, Endpoint>> open_;
};

}  // namespace

Result<StepGraph> prune_step(const Graph& graph, const StepSignature& signature) {
  if (!signature.connections.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const Graph connected, connect(graph, signature.connections));
    StepSignature rest = signature;
    rest.connections.clear();
    return prune_step(connected, rest);
  }
  StepGraph step{Graph(graph.ops()), {}, {}, {}};
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const std::vector<char> needed = NeededNodes(graph, order, signature.feeds, signature.ran, {}).find(signature, order);
  const auto nodes = std::count_if(needed.begin(), needed.end(), [](char n) { return n != 0; });
  step.graph.reserve(static_cast<std::size_t>(nodes) + signature.feeds.size());
  for (const auto& [name, function] : graph.functions()) step.graph.add_function(function);
  Copier copier(graph, step);
  ARGOSY_RETURN_IF_ERROR(copier.add_feeds(signature));
  const std::vector<NodeId> any_shape = variables_of_any_shape(graph);
  for (std::size_t p = 0; p < order.size(); ++p) {
    if (p + 2 * kAhead < order.size()) graph.prefetch(order[p + 2 * kAhead]);
    if (p + kAhead < order.size()) copier.expect_inputs(order[p + kAhead]);
    const NodeId id = order[p];
    if (!needed[id.index]) continue;
    const bool of_any_shape = std::binary_search(any_shape.begin(), any_shape.end(), id);
    ARGOSY_RETURN_IF_ERROR(copier.copy(id, of_any_shape));
  }
  ARGOSY_RETURN_IF_ERROR(copier.close_loops());
  for (const Endpoint e : signature.fetches) {
    step.fetches.push_back(e.index == Value::kControl ? Endpoint{copier.map(e.node), e.index} : copier.map(e));
  }
  for (const NodeId t : signature.targets) step.targets.push_back(copier.map(t));
  return step;
}

Status remove_unused_nodes(StepGraph& step, UnusedNodes dead) {
  StepSignature signature{.fetches = step.fetches, .targets = step.targets};
  // The feeds stay even when nothing reads them: they are the step's parameters.
  signature.targets.insert(signature.targets.end(), step.feeds.begin(), step.feeds.end());
  const auto replaced = std::exchange(step.replaced, {});
  ARGOSY_ASSIGN_OR_RETURN(auto order, step.graph.topological_order());
  const std::vector<char> needed = NeededNodes(step.graph, order, {}, {}, replaced).find(signature, order);
  const bool in_order = std::is_sorted(order.begin(), order.end());
  const auto nodes = order.size();
  std::erase_if(order, [&](NodeId id) { return !needed[id.index]; });
  if (order.size() == nodes && in_order) return ok_status();
  const auto gone = nodes - order.size();
  if (dead == UnusedNodes::kMayKeep && in_order && replaced.empty() && gone <= nodes / kFewDead &&
      step.graph.ops().find("NoOp") != nullptr) {
    for (std::int32_t i = 0; i < step.graph.size(); ++i) {
      if (!needed[static_cast<std::size_t>(i)]) step.graph.replace_with_noop(NodeId{i});
    }
    return ok_status();
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto moved, step.graph.retain(order));
  for (NodeId& feed : step.feeds) feed = moved[feed.index];
  for (NodeId& target : step.targets) target = moved[target.index];
  for (Endpoint& fetch : step.fetches) fetch.node = moved[fetch.node.index];
  return ok_status();
}

}  // namespace argosy
