#include "argosy/sharding/lower/local_statistics.h"

#include "argosy/ops/collective/collective.h"

namespace argosy {

namespace {

Value part_of_batch(LowerState& s, int d, DType dtype) {
  const AffineSize batch{1, 0};
  return s.host->part(s.host->local(batch, Placement::shard(0), d), s.host->global(batch), dtype);
}

}  // namespace

Value term_of_shard(LowerState& s, Value own, NodeId at, int d, std::string_view device) {
  Value part = part_of_batch(s, d, own.dtype());
  if (device != kHost) part = s.near(part, at, d);
  const auto on = s.graph.device(device);
  return scale_nonempty(own, part, str_cat(s.base.node(at).name, "/part_", d));
}

Value nonempty_term(LowerState& s, Value term, NodeId at, int d) {
  const Value part = s.near(part_of_batch(s, d, term.dtype()), at, d);
  const auto on = s.graph.device(s.devices[static_cast<std::size_t>(d)]);
  const std::string name(s.base.node(at).name);
  return scale_nonempty(term, s.graph.add("Sign", {part}, {}, str_cat(name, "/any_", d)),
                        str_cat(name, "/nonempty_", d));
}

std::vector<char> sums_times_statistics(const LowerState& s) {
  std::vector<char> times(static_cast<std::size_t>(s.base.size()), 0);
  for (const NodeId id : s.sizes.order()) {
    if (s.sharding(id).kind != NodeSharding::Kind::kLinear) continue;
    for (const Endpoint e : s.base.node(id).inputs) {
      if (s.assignment.layout(e)[0].is_local() || times[static_cast<std::size_t>(e.node.index)] != 0)
        times[static_cast<std::size_t>(id.index)] = 1;
    }
  }
  return times;
}

Value own_of_term(LowerState& s, Value term, NodeId at, int d) {
  const Value part = s.near(part_of_batch(s, d, term.dtype()), at, d);
  const auto on = s.graph.device(s.devices[static_cast<std::size_t>(d)]);
  return s.graph.add("RealDiv", {term, part}, {}, str_cat(s.base.node(at).name, "/own_", d));
}

Status weigh_statistics(LowerState& s) {
  for (std::size_t at = 0; at < s.assignment.reshards.size(); ++at) {
    const Reshard& r = s.assignment.reshards[at];
    const NodeId id = r.value.node;
    if (!r.from.is_local() || s.in_step[static_cast<std::size_t>(id.index)] == 0) continue;
    if (s.size() > 1 && !is_floating(s.base.dtype(r.value)))
      return cannot_lower(s.base.node(id), "each shard has integers of its own, which have no mean");
    for (int d = 0; d < s.size(); ++d) {
      const Value own = s.value(d, r.value);
      const Value term = s.size() == 1 ? own : term_of_shard(s, own, id, d, s.devices[static_cast<std::size_t>(d)]);
      if (!term.valid()) return s.graph.status();
      s.changed[at].push_back(term.endpoint());
    }
  }
  return s.graph.status();
}

}  // namespace argosy
