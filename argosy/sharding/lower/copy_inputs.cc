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
      const NodeId copy = s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(id.index)];
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint from, input(d, {id, static_cast<int>(i)}));
        s_.graph.set_input(copy, static_cast<int>(i), from);
      }
      for (const NodeId c : n.controls) {
        s_.graph.add_control_input(copy, s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(c.index)]);
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
      const bool built = at != s_.reshard_of.end() && !s_.changed[at->second].empty();
      if (!built && s_.in_step[static_cast<std::size_t>(n.inputs[i].node.index)] != 0) {
        ARGOSY_ASSIGN_OR_RETURN(const Value whole, global_value(s_, n.inputs[i]));
        from = whole.endpoint();
      }
      s_.graph.set_input(id, static_cast<int>(i), from);
    }
    for (const NodeId c : n.controls) {
      for (int d = 0; d < s_.size(); ++d) {
        s_.graph.add_control_input(id, s_.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(c.index)]);
      }
    }
    return ok_status();
  }

  Result<Endpoint> input(int d, Graph::Use use) {
    const ShardingRule& rule = s_.rule(use.node);
    const Endpoint from = s_.source(d, use);
    if (rule.kind != ShardingRule::Kind::kFactors || s_.base.node(use.node).op->flow != Flow::kNone) return from;
    const OperandRule& o = rule.inputs[static_cast<std::size_t>(use.input)];
    if (o.kind == Kind::kShapeOnly && s_.arrives(use).is_shard() && !gives_known_sizes(s_, use.node)) {
      return whole_shape(d, use);
    }
    if (o.kind == Kind::kSizes) return local_sizes(d, use, from, o.of);
    return from;
  }

  // A value with the global shape.
  Result<Endpoint> whole_shape(int d, Graph::Use use) {
    const Endpoint e = s_.base.node(use.node).inputs[static_cast<std::size_t>(use.input)];
    std::vector<Value> shards;
    for (int k = 0; k < s_.size(); ++k) shards.push_back(s_.graph.value(s_.source(k, use)));
    ARGOSY_ASSIGN_OR_RETURN(const Value joined,
                            join_shards(s_, shards, e, s_.arrives(use), s_.devices[static_cast<std::size_t>(d)]));
    return joined.valid() ? Result<Endpoint>(joined.endpoint()) : s_.graph.status();
  }

  // `from` has the global sizes of an output. The sizes of the device's shard of it.
  Result<Endpoint> local_sizes(int d, Graph::Use use, Endpoint from, int of) {
    const Endpoint sized{use.node, of};
    const Placement& p = s_.layout(sized);
    if (!p.is_shard() || s_.size() == 1) return from;
    const Node& n = s_.base.node(use.node);
    const Endpoint given = n.inputs[static_cast<std::size_t>(use.input)];
    const int rank = s_.sizes.shape(sized).rank();
    if (rank < 0) return cannot_lower(n, "the rank of what it gives is not known");
    std::vector<Value> sizes;
    for (int k = 0; k < rank; ++k) {
      auto f = s_.sizes.dim(sized, k);
      if (!f && s_.sizes.element(given, k)) f = s_.sizes.element(given, k);
      if (f && (f->times != 0 || f->plus >= 0)) {
        sizes.push_back(k == p.dim ? s_.host->local(*f, p, d) : s_.host->global(*f));
        continue;
      }
      if (f) {  // -1: what is left of the shard
        sizes.push_back(s_.host->number(-1));
        continue;
      }
      if (s_.in_loop(use.node)) return cannot_lower(n, str_cat("size ", k, " of its output is not known, in a loop"));
      const auto on = s_.graph.device(kHost);
      const auto at = [&](std::int64_t i) {
        return constant(s_.graph, Tensor::vector<std::int64_t>({i}), "sharding/at");
      };
      Value size = s_.graph.add("Slice", {s_.graph.value(from), at(k), at(1)}, {}, "sharding/element");
      size = s_.graph.add("Cast", {size}, {{"DstT", DType::kInt64}}, "sharding/element");
      size = s_.graph.add("Reshape", {size, constant(s_.graph, Tensor::vector<std::int32_t>({}))}, {},
                          "sharding/element");
      if (k == p.dim) {
        const Value open = s_.graph.add("Less", {size, s_.host->number(0)}, {}, "sharding/open");
        size = s_.graph.add("Select", {open, size, s_.host->local(size, p, d)}, {}, "sharding/element");
      }
      sizes.push_back(size);
    }
    const Value all = s_.near(s_.host->pack(sizes, s_.base.dtype(given)), use.node, d);
    return all.valid() ? Result<Endpoint>(all.endpoint()) : s_.graph.status();
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
