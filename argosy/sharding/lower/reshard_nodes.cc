#include "argosy/sharding/lower/reshard_nodes.h"

#include <algorithm>

#include "argosy/ops/collective/shard_collectives.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/lower/local_statistics.h"
#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

namespace {

// Returns the size of one round of a dimension along which the shards repeat.
AffineSize of_round(AffineSize size, std::int64_t rounds) { return {size.times / rounds, size.plus / rounds}; }

Value slice_dim(LowerState& s, Value v, NodeId at, int d, int rank, int dim, Value begin, Value size) {
  std::vector<Value> from(static_cast<std::size_t>(rank), s.host->number(0));
  std::vector<Value> count(static_cast<std::size_t>(rank), s.host->number(-1));
  from[static_cast<std::size_t>(dim)] = begin;
  count[static_cast<std::size_t>(dim)] = size;
  const Value f = s.near(s.host->pack(from, DType::kInt64), at, d);
  const Value c = s.near(s.host->pack(count, DType::kInt64), at, d);
  const auto on = s.graph.device(s.devices[static_cast<std::size_t>(d)]);
  return s.graph.add("Slice", {v, f, c}, {}, "sharding/slice");
}

Value reshaped(LowerState& s, Value v, NodeId at, int d, std::string_view device, const std::vector<Value>& shape) {
  const Value sizes = s.near(s.host->pack(shape, DType::kInt64), at, d);
  const auto on = s.graph.device(device);
  return s.graph.add("Reshape", {v, sizes}, {}, "sharding/rounds");
}

// Returns the size of a dimension of `v`, read from its shape at run time. For sizes that are no function of the batch.
Result<Value> size_at(LowerState& s, Value v, Endpoint e, int dim) {
  if (s.in_loop(e.node)) {
    return cannot_lower(s.base.node(e.node), "it is sharded in a loop, and its size is not known", kSizeBeforeLoop);
  }
  const Value shape = s.graph.add("Shape", {v}, {{"out_type", DType::kInt64}}, "sharding/shape");
  const auto on = s.graph.device(kHost);
  const auto at = [&](std::int64_t i) { return constant(s.graph, Tensor::vector<std::int64_t>({i}), "sharding/at"); };
  const Value one = s.graph.add("Slice", {shape, at(dim), at(1)}, {}, "sharding/rows");
  return s.graph.add("Reshape", {one, constant(s.graph, Tensor::vector<std::int32_t>({}))}, {}, "sharding/count");
}

// Returns the sizes of `v`, which is e or a shard of it along `dim`. Element `dim` is no value.
Result<std::vector<Value>> sizes_beside(LowerState& s, Value v, Endpoint e, int dim) {
  std::vector<Value> sizes;
  for (int i = 0; i < s.sizes.shape(e).rank(); ++i) {
    const auto f = s.sizes.dim(e, i);
    if (i == dim || f) {
      sizes.push_back(i == dim ? Value() : s.host->global(*f));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(sizes.emplace_back(), size_at(s, v, e, i));
    }
  }
  return sizes;
}

// Returns `sizes` with dimension p.dim split in two: the rounds, and `rows` in each round.
std::vector<Value> split_shape(LowerState& s, std::vector<Value> sizes, const Placement& p, Value rows) {
  sizes[static_cast<std::size_t>(p.dim)] = rows;
  sizes.insert(sizes.begin() + p.dim, s.host->number(p.rounds));
  return sizes;
}

std::vector<Value> joined_shape(std::vector<Value> sizes, int dim, Value rows) {
  sizes[static_cast<std::size_t>(dim)] = rows;
  return sizes;
}

Status repeats(const LowerState& s, Endpoint e, const Placement& p) {
  return cannot_lower(s.base.node(e.node), str_cat("its shards repeat, and size ", int{p.dim}, " is not known"));
}

}  // namespace

Result<Value> slice_shard(LowerState& s, Value whole, Endpoint e, const Placement& p, int d) {
  const int rank = s.sizes.shape(e).rank();
  const Node& n = s.base.node(e.node);
  if (rank < 0) return cannot_lower(n, "it is to be sharded, and its rank is not known", "set_shape() on it");
  if (s.size() == 1) return whole;
  const auto size = s.sizes.dim(e, p.dim);
  if (p.rounds == 1) {
    Value all;
    if (size) {
      all = s.host->global(*size);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(all, size_at(s, whole, e, p.dim));
    }
    return slice_dim(s, whole, e.node, d, rank, p.dim, s.host->begin(all, p, d), s.host->local(all, p, d));
  }
  if (!size) return repeats(s, e, p);
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, sizes_beside(s, whole, e, p.dim));
  const Placement one = Placement::shard(p.dim, 1, p.unit);
  const Value step = s.host->global(of_round(*size, p.rounds));
  const std::string& device = s.devices[static_cast<std::size_t>(d)];
  const Value split = reshaped(s, whole, e.node, d, device, split_shape(s, sizes, p, step));
  const Value own =
      slice_dim(s, split, e.node, d, rank + 1, p.dim + 1, s.host->begin(step, one, d), s.host->local(step, one, d));
  return reshaped(s, own, e.node, d, device, joined_shape(sizes, p.dim, s.host->local(*size, p, d)));
}

Result<Value> join_shards(LowerState& s, const std::vector<Value>& shards, Endpoint e, const Placement& p,
                          std::string_view device) {
  if (shards.size() == 1) return shards[0];
  const Node& n = s.base.node(e.node);
  if (s.in_loop(e.node)) {
    return cannot_lower(n, "its shards are joined in a loop, of which each device has its own", kOutsideOfLoop);
  }
  std::vector<Value> parts = shards;
  if (p.rounds == 1) {
    const auto on = s.graph.device(device);
    parts.push_back(constant(s.graph, std::int32_t{p.dim}));
    return s.graph.add("ConcatV2", parts, {}, str_cat(n.name, "/joined"));
  }
  const auto size = s.sizes.dim(e, p.dim);
  if (!size) return repeats(s, e, p);
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, sizes_beside(s, shards[0], e, p.dim));
  const AffineSize step = of_round(*size, p.rounds);
  const Placement one = Placement::shard(p.dim, 1, p.unit);
  for (int d = 0; d < s.size(); ++d) {
    const auto shape = split_shape(s, sizes, p, s.host->local(step, one, d));
    parts[static_cast<std::size_t>(d)] =
        reshaped(s, parts[static_cast<std::size_t>(d)], e.node, d, s.devices[static_cast<std::size_t>(d)], shape);
  }
  {
    const auto on = s.graph.device(device);
    parts.push_back(constant(s.graph, std::int32_t{p.dim + 1}));
  }
  Value joined;
  {
    const auto on = s.graph.device(device);
    joined = s.graph.add("ConcatV2", parts, {}, str_cat(n.name, "/joined"));
  }
  return reshaped(s, joined, e.node, 0, device, joined_shape(sizes, p.dim, s.host->global(*size)));
}

Result<Value> combine_partial(LowerState& s, const std::vector<Value>& parts, Combine how, std::string_view device) {
  if (parts.size() == 1) return parts[0];
  const auto on = s.graph.device(device);
  if (how == Combine::kSum) return s.graph.add("AddN", parts, {}, "sharding/sum");
  Value all = parts[0];
  for (std::size_t d = 1; d < parts.size(); ++d) {
    all = s.graph.add(how == Combine::kMax ? "Maximum" : "Minimum", {all, parts[d]}, {}, "sharding/combined");
  }
  return all;
}

namespace {

class Reshards {
 public:
  explicit Reshards(LowerState& s) : s_(s) {}

  Status build(std::size_t at) {
    const Reshard& r = s_.assignment.reshards[at];
    const Node& n = s_.base.node(r.value.node);
    if (s_.in_step[static_cast<std::size_t>(r.value.node.index)] == 0 || !s_.changed[at].empty()) return ok_status();
    std::vector<Value> in;
    for (int d = 0; d < s_.size(); ++d) in.push_back(s_.graph.value(s_.before(at, d)));
    std::vector<Endpoint> out;
    const bool handle = holds_state(s_.base, r.value), own = r.to.is_local();
    if (!handle && !own) ARGOSY_RETURN_IF_ERROR(whole(at, in));
    for (int d = 0; d < s_.size(); ++d) {
      Value v = in[static_cast<std::size_t>(d)];
      if (r.to.kind == Placement::Kind::kOnce) v = in[0];
      if (!handle && r.to.is_shard()) {
        ARGOSY_ASSIGN_OR_RETURN(v, slice_shard(s_, v, r.value, r.to, d));
      } else if (own) {
        if (!is_floating(v.dtype())) return cannot_lower(n, "a sum of integers is no shard's own");
        if (s_.size() > 1) v = own_of_term(s_, v, r.value.node, d);
      } else if (!handle && r.to == Placement::partial(Combine::kSum) && d > 0) {
        const auto on = s_.graph.device(s_.devices[static_cast<std::size_t>(d)]);
        v = s_.graph.add("ZerosLike", {v}, {}, str_cat(n.name, "/zeros_", d));
      } else if (r.to.kind == Placement::Kind::kVarying) {
        return cannot_lower(n, str_cat("it cannot become ", to_string(r.to)));
      }
      if (!v.valid()) return s_.graph.status();
      out.push_back(v.endpoint());
    }
    s_.changed[at] = std::move(out);
    return ok_status();
  }

 private:
  // Replaces the shards' values in `in` by the global value.
  Status whole(std::size_t at, std::vector<Value>& in) {
    const Reshard& r = s_.assignment.reshards[at];
    const Node& n = s_.base.node(r.value.node);
    if (r.from.is_replicate() || r.from.kind == Placement::Kind::kOnce || s_.size() == 1) return ok_status();
    if (r.from.kind == Placement::Kind::kVarying)
      return cannot_lower(n, "each device has its own, and there is no global one");
    if (const auto sums = s_.summed.find(at); sums != s_.summed.end()) {
      for (int d = 0; d < s_.size(); ++d) {
        in[static_cast<std::size_t>(d)] = s_.graph.value(sums->second[static_cast<std::size_t>(d)]);
      }
      return ok_status();
    }
    if (r.from.is_partial() && r.from.combine != Combine::kSum && s_.in_loop(r.value.node)) {
      return cannot_lower(n, str_cat("it is ", to_string(r.from), " in a loop, of which each device has its own"),
                          kOutsideOfLoop);
    }
    const std::vector<Value> parts = in;
    if (r.from.is_shard() && s_.in_loop(r.value.node)) return gather_in_loop(r, in);
    for (int d = 0; d < s_.size(); ++d) {
      const std::string& device = s_.devices[static_cast<std::size_t>(d)];
      if (!s_.starts_device(d)) {
        in[static_cast<std::size_t>(d)] = in[static_cast<std::size_t>(d) - 1];
      } else if (r.from.is_shard()) {
        ARGOSY_ASSIGN_OR_RETURN(in[static_cast<std::size_t>(d)], join_shards(s_, parts, r.value, r.from, device));
      } else {
        ARGOSY_ASSIGN_OR_RETURN(in[static_cast<std::size_t>(d)], combine_partial(s_, parts, r.from.combine, device));
      }
    }
    const double bytes = s_.sizes.bytes(r.value, 1);
    const bool fixed = s_.sizes.bytes(r.value, 2) == bytes;
    s_.collectives.push_back({.op = r.from.is_shard() ? "all-gather" : "all-reduce",
                              .value = r.value,
                              .bytes = fixed ? static_cast<std::int64_t>(bytes) : -1,
                              .why = r.why});
    return ok_status();
  }

  // Gathers shards in a loop by all-gather nodes: each device has a frame of its own, so no edge leads to another one.
  Status gather_in_loop(const Reshard& r, std::vector<Value>& in) {
    const Node& n = s_.base.node(r.value.node);
    const auto size = s_.sizes.dim(r.value, r.from.dim);
    if (r.from.rounds != 1 || r.from.unit != 1 || !size) {
      return cannot_lower(n, "its shards are joined in a loop, and repeat, or their size is not known", kOutsideOfLoop);
    }
    const std::string group = s_.graph.unique_name("data_parallel/all_gather");
    const Value sizes = s_.host->pack({s_.host->global(*size)}, DType::kInt64);
    for (int d = 0; d < s_.size(); ++d) {
      const Value near = s_.near(sizes, r.value.node, d);
      const auto on = s_.graph.device(s_.devices[static_cast<std::size_t>(d)]);
      Value& v = in[static_cast<std::size_t>(d)];
      const auto whole = all_gather({v}, near, {.group = group, .rank = d, .size = s_.size(), .weights = s_.weights},
                                    r.from.dim, group);
      if (whole.empty()) return s_.graph.status();
      v = whole[0];
    }
    s_.collectives.push_back({.op = "all-gather", .value = r.value, .bytes = -1, .why = r.why});
    return ok_status();
  }

  LowerState& s_;
};

}  // namespace

Status add_reshards(LowerState& s) {
  Reshards reshards(s);
  for (std::size_t i = 0; i < s.assignment.reshards.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(reshards.build(i));
  }
  return s.graph.status();
}

}  // namespace argosy
