// Decides which nodes have a copy on each device, and which exist once.
#include <algorithm>

#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/shard_outputs.h"
#include "argosy/sharding/resolve/axis_state.h"
#include "argosy/sharding/rules/rule_table.h"

namespace argosy {

namespace {

bool refers(const Graph& g, Endpoint e) { return holds_state(g, e) || g.node(e.node).output_is_ref(e.index); }

// Returns flags by node: not 0 for descendants of the batch, for the nodes that the step runs, and for ancestors of
// both.
std::vector<char> find_step(const LowerState& s) {
  std::vector<char> in(static_cast<std::size_t>(s.base.size()), 0);
  std::vector<NodeId> open = s.request.batch;
  const auto take = [&](NodeId id) {
    if (in[static_cast<std::size_t>(id.index)] != 0) return;
    in[static_cast<std::size_t>(id.index)] = 1;
    open.push_back(id);
  };
  for (const NodeId id : s.request.batch) in[static_cast<std::size_t>(id.index)] = 1;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Graph::Use& use : s.uses[id.index]) {
      if (use.input >= 0) take(use.node);
    }
  }
  for (const NodeId id : s.request.run) in[static_cast<std::size_t>(id.index)] = 1;
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    if (in[static_cast<std::size_t>(i)] != 0) open.push_back(NodeId{i});
  }
  while (!open.empty()) {
    const Node& n = s.base.node(open.back());
    open.pop_back();
    for (const Endpoint e : n.inputs) take(e.node);
    for (const NodeId c : n.controls) take(c);
  }
  return in;
}

class Copied {
 public:
  explicit Copied(LowerState& s) : s_(s) {}

  Status run() {
    s_.in_step = find_step(s_);
    s_.copied.assign(s_.in_step.size(), 0);
    s_.sliced.assign(s_.in_step.size(), 0);
    for (const NodeId id : s_.sizes.order()) {
      if (s_.in_step[static_cast<std::size_t>(id.index)] == 0) continue;
      ARGOSY_ASSIGN_OR_RETURN(const bool copy, is_copied(id));
      s_.copied[static_cast<std::size_t>(id.index)] = copy ? 1 : 0;
    }
    return ok_status();
  }

 private:
  Result<bool> is_copied(NodeId id) {
    const Node& n = s_.base.node(id);
    if (s_.is_batch(id)) return false;
    if (s_.sharding(id).kind == NodeSharding::Kind::kGiven) {
      if (s_.layout({id, 0}).is_replicate()) return true;
      return cannot_lower(n, str_cat("a variable that is ", to_string(s_.layout({id, 0}))));
    }
    if (s_.sharding(id).kind == NodeSharding::Kind::kMakes) return true;
    bool of_variable = false, of_single = false, of_state = false;
    for (const Endpoint e : n.inputs) {
      if (!refers(s_.base, e) || s_.base.node(e.node).op->closes_loop) continue;  // a list that a loop carries
      of_state = true;
      if (s_.variable_behind(e)) of_variable = true;
      if (!s_.variable_behind(e) && !s_.is_copied(e.node)) of_single = true;
    }
    const bool once = s_.sharding(id).kind == NodeSharding::Kind::kOnce;
    // Nobody said what copies of it would do.
    // Checks of global values. A loop has them on every device, as no value leaves it; elsewhere one is enough.
    const bool checks = n.output_dtypes.empty() && !of_state && !s_.in_loop(id);
    const bool hidden = n.op->stateful && !of_variable && (checks || s_.rule(id).kind != ShardingRule::Kind::kFactors);
    // What devices drew for themselves would differ.
    const bool drawn = s_.rule(id).draws && n.op->stateful && s_.sharding(id).kind != NodeSharding::Kind::kFactor;
    if (once || hidden || drawn || draws_whole(s_, id) || (of_single && !of_variable)) {
      s_.sliced[static_cast<std::size_t>(id.index)] = gives_shards(id) ? 1 : 0;
      return single(id, of_variable);
    }
    if (of_single && of_variable)
      return cannot_lower(n, "it works on variables, which devices mirror, and other state");
    if (n.op->calls != Calls::kNothing && (n.op->stateful || of_variable)) {
      return cannot_lower(n, "it calls functions that may keep state");
    }
    return true;
  }

  // True if one device may compute the node whole while every device slices its shard from the outputs.
  bool gives_shards(NodeId id) const {
    if (s_.sharding(id).kind != NodeSharding::Kind::kFactor) return false;
    for (std::int32_t k = 0; k < std::ssize(s_.base.node(id).output_dtypes); ++k) {
      const Placement& p = s_.layout({id, k});
      if (!p.is_shard() && !p.is_replicate()) return false;
    }
    return true;
  }

  // Returns the node that made the state behind a handle or reference.
  NodeId maker_of(Endpoint e) const {
    for (std::int32_t steps = 0; steps < s_.base.size(); ++steps) {
      const Node& n = s_.base.node(e.node);
      if (n.inputs.empty() || !refers(s_.base, n.inputs[0])) break;
      e = n.inputs[0];
    }
    return e.node;
  }

  // Returns ARG-SHARD-007 for a node that exists once and is in a loop. If it uses a stack or array, names the node
  // that takes the elements whole: because of it the container exists once.
  Status once_in_loop(NodeId id) const {
    const Node& n = s_.base.node(id);
    constexpr std::string_view in_loop = "in a loop, of which each device has its own";
    const auto state = std::ranges::find_if(
        n.inputs, [&](Endpoint e) { return refers(s_.base, e) && !s_.base.node(e.node).op->closes_loop; });
    if (state == n.inputs.end()) {
      return cannot_lower(n, str_cat("it runs once for all devices, and is ", in_loop), kOutsideOfLoop);
    }
    const NodeId maker = maker_of(*state);
    const Node& made = s_.base.node(maker);
    const std::string what = str_cat("it uses '", made.name, "' (", made.op->name, "), which exists once, ", in_loop);
    for (const NodeId user : s_.sizes.order()) {
      const Node& u = s_.base.node(user);
      if (!made.op->step_state || passes_on(*u.op) || u.inputs.empty()) continue;
      if (!refers(s_.base, u.inputs[0]) || maker_of(u.inputs[0]) != maker) continue;
      const ShardingRule& rule = s_.rule(user);
      if (rule.kind == ShardingRule::Kind::kFactors) continue;
      return cannot_lower(n,
                          str_cat(what, ", for '", u.name, "' (", u.op->name, ") takes its elements whole: ", rule.why),
                          "set_shape() on what is put in there");
    }
    return cannot_lower(n, what, kOutsideOfLoop);
  }

  Result<bool> single(NodeId id, bool of_variable) const {
    const Node& n = s_.base.node(id);
    if (s_.in_loop(id)) return once_in_loop(id);
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      const Placement& p = s_.layout({id, k});
      if (!p.is_replicate() && p.kind != Placement::Kind::kOnce && s_.sliced[static_cast<std::size_t>(id.index)] == 0) {
        return cannot_lower(n, str_cat("one device computes it, and its output ", k, " is to be ", to_string(p)));
      }
    }
    if (!of_variable) return false;
    const bool reads = n.op->stateful && !n.output_dtypes.empty() && !n.op->has_ref_input() && !s_.rule(id).draws;
    if (reads && s_.rule(id).updates.empty()) return false;
    return cannot_lower(n, "one device computes it, and it may write a variable that every device has",
                        "assign what it gives by an op of its own");
  }

  LowerState& s_;
};

}  // namespace

Status find_copied(LowerState& s) { return Copied(s).run(); }

}  // namespace argosy
