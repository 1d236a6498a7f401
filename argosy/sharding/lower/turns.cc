#include "argosy/sharding/lower/turns.h"

#include <algorithm>
#include <utility>

#include "argosy/ops/collective/turns.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

namespace {

Status cannot_share(const Node& n, std::string_view why) {
  return unimplemented("'", n.name, "' (", n.op->name,
                       ") is in a loop, which several shards on one device repeat: ", why)
      .with_id("ARG-DP-003")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("as many shards as devices: without --reproducible and accumulate");
}

class PerShard {
 public:
  explicit PerShard(LowerState& s) : s_(s) {}

  Status run() {
    s_.per_shard.assign(static_cast<std::size_t>(s_.base.size()), 0);
    for (const NodeId id : s_.sizes.order()) {
      if (!s_.is_copied(id) || s_.is_variable(id)) continue;
      if (is_varied(id) || follows_shard(id)) s_.per_shard[at(id)] = 1;
    }
    if (!s_.has_turns()) return ok_status();
    while (spread_over_loops() || spread_over_containers()) {
    }
    take_joins();
    take_waiting();
    return check();
  }

 private:
  static std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

  bool is_varied(NodeId id) const {
    const Node& n = s_.base.node(id);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (!s_.arrives({id, static_cast<int>(i)}).is_replicate()) return true;
    }
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      if (!s_.layout({id, k}).is_replicate()) return true;
    }
    return false;
  }

  // True if an input has a copy per shard though all copies are equal, such as values computed from the seed of
  // gradients. One copy for all shards would make a device's turns wait for each other.
  bool follows_shard(NodeId id) const {
    const Node& n = s_.base.node(id);
    if (n.op->stateful || n.op->has_ref_input() || !s_.rule(id).updates.empty()) return false;
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](Endpoint e) { return s_.per_shard[at(e.node)] != 0 && s_.layout(e).is_replicate(); });
  }

  int outermost(NodeId id) const {
    int loop = s_.regions.frame[at(id)];
    while (loop != 0 && s_.regions.frames[static_cast<std::size_t>(loop)].around != 0) {
      loop = s_.regions.frames[static_cast<std::size_t>(loop)].around;
    }
    return loop;
  }

  bool take(NodeId id) {
    if (!s_.is_copied(id) || s_.is_variable(id)) return false;
    return std::exchange(s_.per_shard[at(id)], 1) == 0;
  }

  bool spread_over_loops() {
    std::vector<char> sharded(s_.regions.frames.size(), 0);
    for (const NodeId id : s_.sizes.order()) {
      if (s_.per_shard[at(id)] != 0) sharded[static_cast<std::size_t>(outermost(id))] = 1;
    }
    bool fresh = false;
    for (const NodeId id : s_.sizes.order()) {
      const int loop = outermost(id);
      if (loop != 0 && sharded[static_cast<std::size_t>(loop)] != 0) fresh = take(id) || fresh;
    }
    return fresh;
  }

  // The maker of a stack or TensorArray and all its users are per shard, or none of them is.
  bool spread_over_containers() {
    bool fresh = false;
    for (const NodeId id : s_.sizes.order()) {
      for (const Endpoint e : s_.base.node(id).inputs) {
        const bool handle = holds_state(s_.base, e) || s_.base.node(e.node).output_is_ref(e.index);
        if (!handle || s_.variable_behind(e)) continue;
        const bool any = s_.per_shard[at(id)] != 0 || s_.per_shard[at(e.node)] != 0;
        if (any) fresh = take(id) || fresh;
        if (any) fresh = take(e.node) || fresh;
      }
    }
    return fresh;
  }

  // Takes nodes without inputs and outputs through which nodes of a shard wait for others of the shard: tf.tuple(),
  // tf.gradients(). One copy for all shards would make every turn wait for the last one.
  void take_joins() {
    enum Side : char { kAfter = 1, kBefore = 2 };  // waits for a shard's node; a shard's node waits for it
    std::vector<char> sides(static_cast<std::size_t>(s_.base.size()), 0);
    const auto meets = [&](NodeId id) {
      const Node& n = s_.base.node(id);
      return n.inputs.empty() && n.output_dtypes.empty() && !n.op->stateful && s_.is_copied(id);
    };
    const std::vector<NodeId>& order = s_.sizes.order();
    for (const NodeId id : order) {
      const auto& controls = s_.base.node(id).controls;
      const bool after = std::any_of(controls.begin(), controls.end(), [&](NodeId c) {
        return s_.per_shard[at(c)] != 0 || (sides[at(c)] & kAfter) != 0;
      });
      if (after && meets(id)) sides[at(id)] |= kAfter;
    }
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (s_.per_shard[at(*id)] == 0 && sides[at(*id)] != (kAfter | kBefore)) continue;
      for (const NodeId c : s_.base.node(*id).controls) sides[at(c)] |= kBefore;
    }
    for (const NodeId id : order) {
      if (sides[at(id)] == (kAfter | kBefore)) take(id);
    }
  }

  // Takes constants that wait for a shard's nodes (TensorFlow's gradient of a square has one), and Identity-like nodes
  // that do (at outputs of its functions). One copy for all shards would make every turn wait for the last one.
  void take_waiting() {
    std::vector<char> waits(static_cast<std::size_t>(s_.base.size()), 0), run = waits;
    for (const NodeId id : s_.request.run) run[at(id)] = 1;
    const std::vector<NodeId>& order = s_.sizes.order();
    for (const NodeId id : order) {
      const Node& n = s_.base.node(id);
      if (!passes_value(id) || run[at(id)] != 0) continue;
      const auto own = [&](NodeId c) { return s_.per_shard[at(c)] != 0; };
      const auto from = [&](Endpoint e) { return waits[at(e.node)] != 0; };
      waits[at(id)] = std::any_of(n.controls.begin(), n.controls.end(), own) ||
                      std::any_of(n.inputs.begin(), n.inputs.end(), from);
    }
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (waits[at(*id)] == 0) continue;
      bool any = false, all = true;
      for (const Graph::Use& use : s_.uses[id->index]) {
        if (use.input < 0) continue;
        any = true;
        all = all && s_.per_shard[at(use.node)] != 0;
      }
      if (any && all) take(*id);
    }
  }

  // True for stateless nodes without inputs, and for nodes that forward their input. Another copy of them costs
  // nothing.
  bool passes_value(NodeId id) const {
    const Node& n = s_.base.node(id);
    if (!s_.is_copied(id) || s_.is_variable(id) || s_.in_loop(id) || s_.per_shard[at(id)] != 0) return false;
    if (n.op->stateful || n.op->flow != Flow::kNone || n.output_dtypes.size() != 1 || n.op->has_ref_input()) return false;
    if (holds_state(s_.base, {id, 0}) || n.output_is_ref(0)) return false;
    return n.inputs.empty() || n.op->forwards;
  }

  Status check() const {
    for (const NodeId id : s_.sizes.order()) {
      if (s_.per_shard[at(id)] == 0 || !s_.in_loop(id)) continue;
      const Node& n = s_.base.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const Graph::Use use{id, static_cast<int>(i)};
        const bool combined = s_.reshard_of.contains({id, use.input}) && s_.arrives(use).is_replicate();
        if (combined && s_.in_loop(n.inputs[i].node)) {
          return cannot_share(s_.base.node(n.inputs[i].node), "it is summed over shards there");
        }
      }
      if (!s_.rule(id).updates.empty()) return cannot_share(n, "every shard would write the variable");
    }
    return ok_status();
  }

  LowerState& s_;
};

}  // namespace

// UNIMPLEMENTED ARG-DP-003, on devices with several shards: a loop of shards writes a variable, or adds up a value over
// shards, in frames that do not meet.
Status find_per_shard(LowerState& s) { return PerShard(s).run(); }

void mark_turn(LowerState& s, NodeId copy, int shard) {
  if (s.has_turns()) s.graph.set_attr(copy, kTurnAttr, std::int64_t{s.turn_of(shard)});
}

int shards_per_sum(const LowerState& s, DType dtype) {
  const bool rounds = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  return rounds ? 1 : s.request.block;
}

// A binary counter, as in comm/combine.cc: shard i carries into level 0, and on as long as levels are taken.
Value sum_of_turns(LowerState& s, int first, int last, const std::vector<Value>& values, std::string_view name) {
  const auto on = s.graph.device(s.devices[static_cast<std::size_t>(first)]);
  const auto sum = [&](const Value& earlier, const Value& later, int shard) {
    const auto scope = s.graph.name_scope(name);
    const Value v = add(earlier, later);
    if (v.valid()) s.graph.set_attr(v.node(), kTurnSumAttr, std::int64_t{s.turn_of(shard)});
    return v;
  };
  std::vector<Value> levels;  // [k]: a sum of 2^k shards, or none
  for (int shard = first; shard < last; ++shard) {
    Value carry = values[static_cast<std::size_t>(shard)];
    std::size_t level = 0;
    for (; level < levels.size() && levels[level].valid(); ++level) {
      carry = sum(std::exchange(levels[level], Value()), carry, shard);
    }
    if (level == levels.size()) levels.emplace_back();
    levels[level] = carry;
  }
  Value total;  // what is left of a number that is no power of two, from the small to the large
  for (const Value& part : levels) {
    if (part.valid()) total = total.valid() ? sum(part, total, last - 1) : part;
  }
  return total;
}

std::vector<NodeId> coupled_turns(const LowerState& s) {
  enum Mark : char { kNothing = 0, kVariables = 1, kCombined = 2 };  // what a value is computed from
  std::vector<NodeId> coupled;
  if (!s.has_turns()) return coupled;
  std::vector<char> marks(static_cast<std::size_t>(s.base.size()), kNothing);
  for (const NodeId id : s.sizes.order()) {
    const Node& n = s.base.node(id);
    char& mark = marks[static_cast<std::size_t>(id.index)];
    if (s.is_variable(id)) mark |= kVariables;
    bool combined = false;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const char from = marks[static_cast<std::size_t>(n.inputs[i].node.index)];
      mark |= from & kVariables;
      const auto reshard = s.reshard_of.find({id, static_cast<int>(i)});
      const Placement& arrives = s.arrives({id, static_cast<int>(i)});
      const bool point = reshard != s.reshard_of.end() && !s.layout(n.inputs[i]).is_replicate() &&
                         !arrives.is_partial() && !arrives.is_local();
      combined = combined || (point && (from & kVariables) != 0) || (from & kCombined) != 0;
    }
    const bool own = s.per_shard[static_cast<std::size_t>(id.index)] != 0;
    for (const NodeId c : n.controls) {
      const char from = marks[static_cast<std::size_t>(c.index)];
      mark |= from & kVariables;
      // What a device has once waits for all of its shards.
      const bool meets = !own && s.per_shard[static_cast<std::size_t>(c.index)] != 0 && (from & kVariables) != 0;
      combined = combined || meets || (from & kCombined) != 0;
    }
    if (!combined) continue;
    // The shard's nodes after it are no news.
    if (own) {
      coupled.push_back(id);
    } else {
      mark |= kCombined;
    }
  }
  std::sort(coupled.begin(), coupled.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
  return coupled;
}

}  // namespace argosy
