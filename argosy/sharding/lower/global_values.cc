#include "argosy/sharding/lower/global_values.h"

#include "argosy/ops/collective/collective.h"
#include "argosy/sharding/lower/local_statistics.h"
#include "argosy/sharding/lower/reshard_nodes.h"
#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

namespace {

// Returns the first device's result of a reshard that makes the value replicated; nullopt: there is none.
std::optional<Endpoint> combined(const LowerState& s, Endpoint e) {
  for (std::size_t i = 0; i < s.assignment.reshards.size(); ++i) {
    const Reshard& r = s.assignment.reshards[i];
    if (r.value == e && r.to.is_replicate() && !s.changed[i].empty()) return s.changed[i][0];
  }
  return std::nullopt;
}

Result<Value> recompute_global(LowerState& s, Endpoint e) {
  const Node& n = s.base.node(e.node);
  if (n.op->stateful || n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing || n.inputs.empty()) {
    return invalid_argument("'", n.name, "' (", n.op->name, ") has a value of its own on each device")
        .with_id("ARG-SHARD-008")
        .with_hint("fetch what is computed from it");
  }
  NodeSpec spec{.name = s.graph.unique_name(str_cat(n.name, "/global_batch")),
                .op = n.op->name,
                .attrs = n.attributes(),
                .device = kHost};
  for (const Endpoint from : n.inputs) {
    ARGOSY_ASSIGN_OR_RETURN(const Value input, global_value(s, from));
    spec.inputs.push_back(input.endpoint());
  }
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, s.graph.add_node(std::move(spec)));
  return s.graph.value(Endpoint{made, e.index});
}

}  // namespace

Result<Value> global_value(LowerState& s, Endpoint e) {
  if (s.is_batch(e.node) || s.sliced[static_cast<std::size_t>(e.node.index)] != 0) return s.graph.value(e);
  const Placement& p = s.layout(e);
  const bool plain = p.is_replicate() || p.kind == Placement::Kind::kOnce || holds_state(s.base, e);
  if (plain || s.in_step[static_cast<std::size_t>(e.node.index)] == 0) return s.value(0, e);
  if (const auto known = s.fetched.find(e); known != s.fetched.end()) return known->second;
  if (const auto whole = combined(s, e)) return s.graph.value(*whole);
  const Node& n = s.base.node(e.node);
  if (s.in_loop(e.node)) {
    return invalid_argument("'", n.name, "' (", n.op->name, ") is in a loop").with_id("ARG-SHARD-008");
  }
  std::vector<Value> parts;
  const bool is_local = p.is_local() && s.size() > 1 && is_floating(s.base.dtype(e));
  for (int d = 0; d < s.size(); ++d) {
    parts.push_back(is_local ? term_of_shard(s, s.value(d, e), e.node, d, kHost) : s.value(d, e));
  }
  if (const auto mean = s.fetched_means.find(e); mean != s.fetched_means.end()) {
    const auto& [size, cut] = mean->second;
    const DType dtype = s.base.dtype(e);
    for (int d = 0; d < s.size(); ++d) {
      const Value part = s.host->part(s.host->local(size, cut, d), s.host->global(size), dtype);
      const auto on = s.graph.device(kHost);
      Value& v = parts[static_cast<std::size_t>(d)];
      v = scale_nonempty(v, part, str_cat(n.name, "/part_", d));
    }
  }
  Result<Value> made = p.is_shard() ? join_shards(s, parts, e, p, kHost)
                       : p.is_partial() || is_local
                           ? combine_partial(s, parts, is_local ? Combine::kSum : p.combine, kHost)
                           : recompute_global(s, e);
  if (made.ok() && !made->valid()) return s.graph.status();
  if (made.ok()) s.fetched[e] = *made;
  return made;
}

}  // namespace argosy
