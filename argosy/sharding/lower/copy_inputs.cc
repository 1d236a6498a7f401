// What copies read, and what they wait for.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/lower/global_values.h"
#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/reshard_nodes.h"
#include "argosy/sharding/lower/shard_outputs.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

class Connect {
 public:
  explicit Connect(LowerState& s) : s_(s) {}

  Status node(NodeId id) {
    const Node& n = s_.base.node(id);
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
  // Of a node that exists once: global values, and it waits for all devices.
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
    }
    for (const NodeId c : n.controls) {
      for (int d = 0; d < s_.size(); ++d) wait(id, c, d);
    }
    return ok_status();
  }

  void wait(NodeId id, NodeId control, int d) {
    s_.graph.add_control_input(id, s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(control.index)]);
  }

  Result<Endpoint> input(int d, Graph::Use use) {
    const ShardingRule& rule = s_.rule(use.node);
    const Endpoint from = s_.source(d, use);
    if (rule.kind != ShardingRule::Kind::kFactors || s_.base.node(use.node).op->flow != Flow::kNone) return from;
    const OperandRule& o = rule.inputs[static_cast<std::size_t>(use.input)];
    if (o.kind == Kind::kShapeOnly && s_.arrives(use).is_shard() && !gives_known_sizes(s_, use.node)) {
      return whole_shape(d, use);
    }
    if (o.kind == Kind::kSizes) return local_sizes(d, use, from);
    return from;
  }

  // A value with the global shape.
  Result<Endpoint> whole_shape(int d, Graph::Use use) {
    const Endpoint e = s_.base.node(use.node).inputs[static_cast<std::size_t>(use.input)];
    std::vector<Value> shards;
    for (int k = 0; k < s_.size(); ++k) shards.push_back(s_.graph.value(s_.source(k, use)));
    const Placement& p = s_.arrives(use);
    ARGOSY_ASSIGN_OR_RETURN(const Value whole,
                            s_.in_loop(e.node)
                                ? padded_shard(s_, shards[static_cast<std::size_t>(d)], e, p, d)
                                : join_shards(s_, shards, e, p, s_.devices[static_cast<std::size_t>(d)]));
    return whole.valid() ? Result<Endpoint>(whole.endpoint()) : s_.graph.status();
  }

  // `from` counts elements of an output of the global value. What the device's shard has of them.
  Result<Endpoint> local_sizes(int d, Graph::Use use, Endpoint from) {
    const Node& n = s_.base.node(use.node);
    const Way& way = s_.way(use.node);
    const OperandRule& o = s_.rule(use.node).inputs[static_cast<std::size_t>(use.input)];
    if (way.kind != Way::Kind::kFactor || s_.size() == 1) return from;
    const Endpoint sized{use.node, o.of}, given = n.inputs[static_cast<std::size_t>(use.input)];
    const PartialShape& shape = s_.sizes.shape(given);
    const PartialInts* const ints = s_.sizes.ints(given);
    std::int64_t count = std::ssize(o.dims);
    if (ints != nullptr) count = std::ssize(*ints);
    if (ints == nullptr && shape.rank() == 1 && shape[0] >= 0) count = shape[0];
    const bool of_dim = s_.sizes.shape(sized).has_rank() && s_.sizes.shape(sized).rank() == count;
    const bool sharded = s_.layout(sized).is_shard();
    std::vector<Value> sizes;
    std::vector<int> kept;  // in a loop: elements that only an iteration knows
    bool changed = false;
    for (int k = 0; k < count; ++k) {
      const auto part = k < std::ssize(o.dims) ? part_of(use.node, o.dims[static_cast<std::size_t>(k)]) : std::nullopt;
      auto f = s_.sizes.element(given, k);
      // -1 beside a shard without rows says nothing.
      if (f && f->times == 0 && f->plus < 0 && of_dim && (part || sharded)) f = s_.sizes.dim(sized, k).value_or(*f);
      changed = changed || part || (f && sharded);
      if (f && f->times == 0 && f->plus < 0) {
        if (part) return cannot_lower(n, str_cat("size ", k, " of its output is left open, and is a shard's"));
        sizes.push_back(s_.host->number(f->plus));
      } else if (f) {
        sizes.push_back(part ? s_.host->local(*f, *part, d) : s_.host->global(*f));
      } else if (s_.in_loop(use.node)) {
        if (part) return cannot_lower(n, str_cat("size ", k, " of its output is not known, in a loop"));
        kept.push_back(k);
        sizes.push_back(s_.host->number(0));
      } else {
        const Value size = element(from, k, shape.rank() == 0);
        sizes.push_back(part ? local_or_open(size, *part, d) : size);
      }
    }
    if (!changed) return from;
    Value all = s_.host->pack(sizes, s_.base.dtype(given));
    if (shape.rank() == 0) {
      const auto on = s_.graph.device(kHost);
      all = s_.graph.add("Reshape", {all, constant(s_.graph, Tensor::vector<std::int32_t>({}))}, {}, "sharding/size");
    }
    Value near = s_.near(all, use.node, d);
    near = kept.empty() ? s_.dead_with(near, from.node, use.node) : with_kept(near, from, kept, count, {use.node, d});
    return near.valid() ? Result<Endpoint>(near.endpoint()) : s_.graph.status();
  }

  // `sizes`, but for some of its elements those of `from`.
  Value with_kept(Value sizes, Endpoint from, const std::vector<int>& kept, std::int64_t count,
                  std::pair<NodeId, int> at) {
    Tensor known = Tensor::zeros(DType::kBool, {count});
    for (std::int64_t k = 0; k < count; ++k) known.data<bool>()[k] = std::find(kept.begin(), kept.end(), k) == kept.end();
    const auto on = s_.graph.device(kHost);
    const Value mask = s_.near(constant(s_.graph, known, "sharding/known"), at.first, at.second);
    return s_.graph.add("Select", {mask, sizes, s_.graph.value(from)}, {}, "sharding/sizes");
  }

  // How an element that is a multiple of these factors is cut, if the node is sharded along one of them.
  std::optional<Placement> part_of(NodeId id, const FactorsOfDim& dim) const {
    const Way& way = s_.way(id);
    std::int64_t outer = 1, inner = 1;
    bool found = false;
    for (const std::int8_t f : dim) {
      if (f == way.index) {
        found = true;
        continue;
      }
      (found ? inner : outer) *= s_.rule(id).factors[static_cast<std::size_t>(f)].size;
    }
    if (!found) return std::nullopt;
    return Placement::shard(0, outer * way.rounds, inner * way.unit);
  }

  // Element k of a vector that only the step knows.
  Value element(Endpoint from, int k, bool scalar) {
    const auto on = s_.graph.device(kHost);
    const auto at = [&](std::int64_t i) {
      return constant(s_.graph, Tensor::vector<std::int64_t>({i}), "sharding/at");
    };
    Value size = s_.graph.value(from);
    if (!scalar) size = s_.graph.add("Slice", {size, at(k), at(1)}, {}, "sharding/element");
    size = s_.graph.add("Cast", {size}, {{"DstT", DType::kInt64}}, "sharding/element");
    return s_.graph.add("Reshape", {size, constant(s_.graph, Tensor::vector<std::int32_t>({}))}, {},
                        "sharding/element");
  }

  // -1 stays -1: what is left of the shard.
  Value local_or_open(Value size, const Placement& part, int d) {
    const Value local = s_.host->local(size, part, d);
    const auto on = s_.graph.device(kHost);
    const Value open = s_.graph.add("Less", {size, s_.host->number(0)}, {}, "sharding/open");
    return s_.graph.add("Select", {open, size, local}, {}, "sharding/element");
  }

  LowerState& s_;
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
