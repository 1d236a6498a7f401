// Connects the inputs and control inputs of copies, and of nodes that exist once.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/lower/global_values.h"
#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/reshard_nodes.h"
#include "argosy/sharding/lower/shard_outputs.h"
#include "argosy/sharding/lower/shard_sizes.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

class Connect {
 public:
  explicit Connect(LowerState& s) : s_(s), after_write_(static_cast<std::size_t>(s.base.size()), 0) {
    const auto after = [&](NodeId id) { return after_write_[static_cast<std::size_t>(id.index)] != 0; };
    for (bool again = true; again;) {  // what a loop brings round comes after its writes
      again = false;
      for (const NodeId id : s.sizes.order()) {
        const Node& n = s.base.node(id);
        const bool any = writes_mirror(id) || std::any_of(n.controls.begin(), n.controls.end(), after) ||
                         std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return after(e.node); });
        if (!any || after(id)) continue;
        after_write_[static_cast<std::size_t>(id.index)] = 1;
        again = true;
      }
    }
  }

  Status node(NodeId id) {
    const Node& n = s_.base.node(id);
    forget_replaced(id);
    if (!s_.is_copied(id)) return single(id);
    for (int d = 0; d < s_.size(); ++d) {
      if (!s_.owns_copy(d, id)) continue;
      const NodeId copy = s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(id.index)];
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint from, input(d, {id, static_cast<int>(i)}));
        s_.graph.set_input(copy, static_cast<int>(i), from);
      }
      for (const NodeId c : n.controls) {
        // What a device has once waits for all of its shards.
        const bool waits_for_all = s_.per_shard[static_cast<std::size_t>(id.index)] == 0;
        for (int k = d; k < s_.size() && (k == d || (waits_for_all && !s_.starts_device(k))); ++k) wait(copy, c, k);
      }
    }
    return ok_status();
  }

 private:
  // Connects a node that exists once: it reads global values, and waits for all devices.
  Status single(NodeId id) {
    const Node& n = s_.base.node(id);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Graph::Use use{id, static_cast<int>(i)};
      const auto at = s_.reshard_of.find({id, static_cast<int>(i)});
      Endpoint from = s_.source(0, use);
      // Of its shards, one that computes for all devices needs all.
      const bool sharded = s_.arrives(use).is_shard();
      const bool built = at != s_.reshard_of.end() && !s_.changed[at->second].empty() && !sharded;
      if (!built && s_.in_step[static_cast<std::size_t>(n.inputs[i].node.index)] != 0) {
        ARGOSY_ASSIGN_OR_RETURN(const Value whole, global_value(s_, n.inputs[i]));
        from = whole.endpoint();
      }
      s_.graph.set_input(id, static_cast<int>(i), from);
      // One device's value is enough, but its way may write a variable: every device has to write its own.
      const NodeId maker = n.inputs[i].node;
      const bool writes = s_.is_copied(maker) && after_write_[static_cast<std::size_t>(maker.index)] != 0;
      for (int d = 0; d < s_.size() && writes; ++d) wait(id, maker, d);
    }
    for (const NodeId c : n.controls) {
      for (int d = 0; d < s_.size(); ++d) wait(id, c, d);
    }
    return ok_status();
  }

  // True if the copies of the node write variables, each its device's own.
  bool writes_mirror(NodeId id) const {
    const Node& n = s_.base.node(id);
    if (!s_.is_copied(id) || n.inputs.empty() || n.op->flow != Flow::kNone) return false;
    if (!s_.rule(id).updates.empty() || n.op->has_ref_input()) return true;
    return n.op->stateful && n.op->effect == Effect::kChanges && s_.variable_behind(n.inputs[0]).has_value();
  }

  // Removes control inputs from a random node that per-shard nodes replaced. It must not run, since it would draw from
  // the same stream.
  void forget_replaced(NodeId id) {
    for (const NodeId c : s_.base.node(id).controls) {
      if (s_.copies[0][static_cast<std::size_t>(c.index)] != c) s_.graph.remove_control_input(id, c);
    }
  }

  void wait(NodeId id, NodeId control, int d) {
    s_.graph.add_control_input(id, s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(control.index)]);
  }

  Result<Endpoint> input(int d, Graph::Use use) {
    const ShardingRule& rule = s_.rule(use.node);
    const Endpoint from = s_.source(d, use);
    if (const auto open = open_element_shape(s_, d, use, from)) return *open;
    if (rule.kind != ShardingRule::Kind::kFactors || s_.base.node(use.node).op->flow != Flow::kNone) return from;
    const OperandRule& o = rule.inputs[static_cast<std::size_t>(use.input)];
    if (o.kind == Kind::kShapeOnly && s_.arrives(use).is_shard() && !gives_known_sizes(s_, use.node)) {
      return whole_shape(d, use);
    }
    if (o.kind == Kind::kSizes) return local_sizes(s_, d, use, from);
    return from;
  }

  // Returns a value with the global shape: the joined shards, or in a loop the padded shard.
  Result<Endpoint> whole_shape(int d, Graph::Use use) {
    const Endpoint e = s_.base.node(use.node).inputs[static_cast<std::size_t>(use.input)];
    std::vector<Value> shards;
    for (int k = 0; k < s_.size(); ++k) shards.push_back(s_.graph.value(s_.source(k, use)));
    const Placement& p = s_.arrives(use);
    ARGOSY_ASSIGN_OR_RETURN(
        const Value whole, s_.in_loop(e.node) ? padded_shard(s_, shards[static_cast<std::size_t>(d)], e, p, d)
                                              : join_shards(s_, shards, e, p, s_.devices[static_cast<std::size_t>(d)]));
    return whole.valid() ? Result<Endpoint>(whole.endpoint()) : s_.graph.status();
  }

  LowerState& s_;
  std::vector<char> after_write_;  // by node: it writes a mirror of a variable, or what it comes from does
};

}  // namespace

Status connect_copies(LowerState& s) {
  Connect connect(s);
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(connect.node(NodeId{i}));
  }
  for (const LowerState::Late& l : s.late) s.graph.set_input(l.node, l.input, s.source(l.device, l.use));
  return s.graph.status();
}

}  // namespace argosy
