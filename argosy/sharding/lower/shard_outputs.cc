#include "argosy/sharding/lower/shard_outputs.h"

#include <algorithm>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/random/random_shard.h"
#include "argosy/sharding/lower/reshard_nodes.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

Status shard_feeds(LowerState& s) {
  const auto on = s.graph.device(kHost);
  for (const NodeId x : s.request.batch) {
    if (s.layout({x, 0}) != Placement::shard(0)) {
      return cannot_lower(s.base.node(x), str_cat("a feed that is ", to_string(s.layout({x, 0}))));
    }
    for (int d = 0; d < s.size(); ++d) {
      s.output(d, {x, 0}) =
          shard_batch(Value(&s.graph, x, 0), s.weights, d, str_cat(s.base.node(x).name, "/shard_", d)).endpoint();
    }
  }
  return ok_status();
}

// Slices the sharded outputs of a node that exists once.
Status slice_outputs(LowerState& s, NodeId id) {
  for (std::int32_t k = 0; k < std::ssize(s.base.node(id).output_dtypes); ++k) {
    const Endpoint e{id, k};
    const Placement& p = s.layout(e);
    for (int d = 0; d < s.size() && p.is_shard(); ++d) {
      ARGOSY_ASSIGN_OR_RETURN(const Value v, slice_shard(s, s.graph.value(e), e, p, d));
      s.output(d, e) = v.endpoint();
    }
  }
  return ok_status();
}

// An input's dimension that holds the factor along which the node is sharded.
struct HeldBy {
  Graph::Use use;
  int dim = -1;
};
std::optional<HeldBy> holder(const LowerState& s, NodeId id) {
  const ShardingRule& rule = s.rule(id);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    const Graph::Use use{id, static_cast<int>(i)};
    if (rule.inputs[i].kind == Kind::kDims && s.arrives(use).is_shard()) return HeldBy{use, s.arrives(use).dim};
  }
  return std::nullopt;
}

// True if some node reads the elements of one of its outputs, not only the shape.
bool has_reader(const LowerState& s, NodeId id) {
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    const auto& inputs = s.base.node(NodeId{i}).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].node != id) continue;
      const ShardingRule& rule = s.rule(NodeId{i});
      const bool shape_only = k < rule.inputs.size() && rule.inputs[k].kind == Kind::kShapeOnly;
      const bool unread = std::find(rule.unread.begin(), rule.unread.end(), static_cast<int>(k)) != rule.unread.end();
      if (!shape_only && !unread) return true;
    }
  }
  return false;
}

// Makes partial sums of the shards' means: multiplies each by the shard's part of the factor. The mean of an empty
// shard becomes zeros. A mean that no node reads goes to `fetched_means` instead.
Status weigh_means(LowerState& s, NodeId id) {
  const Node& n = s.base.node(id);
  const NodeSharding& sharding = s.sharding(id);
  if (sharding.kind != NodeSharding::Kind::kFactor) return ok_status();
  if (s.rule(id).factors[static_cast<std::size_t>(sharding.index)].role != FactorRole::kMean) return ok_status();
  const auto held = holder(s, id);
  if (!held) return cannot_lower(n, "it is a mean along a dimension that no input has");
  const Endpoint in = n.inputs[static_cast<std::size_t>(held->use.input)];
  const auto size = s.sizes.dim(in, held->dim);
  const Placement& cut = s.arrives(held->use);
  if (size && !has_reader(s, id)) {
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      if (!is_floating(s.graph.dtype({id, k}))) return cannot_lower(n, "a mean of integers is no sum of parts");
      if (s.layout({id, k}).is_partial()) s.fetched_means.emplace(Endpoint{id, k}, std::pair(*size, cut));
    }
    return ok_status();
  }
  std::vector<Value> local;
  Value global;
  if (size) {
    global = s.host->global(*size);
    for (int d = 0; d < s.size(); ++d) local.push_back(s.host->local(*size, cut, d));
  } else {
    if (s.in_loop(id)) {
      return cannot_lower(n, "it is a mean of a number of rows that is not known, in a loop", kOutsideOfLoop);
    }
    // Each device counts what it has.
    for (int d = 0; d < s.size(); ++d) {
      const Value shape = s.graph.add("Shape", {s.value(d, in)}, {{"out_type", DType::kInt64}}, "sharding/shape");
      s.late.push_back({shape.node(), 0, d, held->use});
      const auto on = s.graph.device(kHost);
      const auto at = [&](std::int64_t i) {
        return constant(s.graph, Tensor::vector<std::int64_t>({i}), "sharding/at");
      };
      local.push_back(s.graph.add("Slice", {shape, at(held->dim), at(1)}, {}, "sharding/rows"));
      local.back() = s.graph.add("Reshape", {local.back(), constant(s.graph, Tensor::vector<std::int32_t>({}))}, {},
                                 "sharding/count");
    }
    const auto on = s.graph.device(kHost);
    global = s.graph.add("AddN", local, {}, "sharding/count");
  }
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
    const Endpoint e{id, k};
    if (!s.layout(e).is_partial()) continue;
    if (!is_floating(s.graph.dtype(e))) return cannot_lower(n, "a mean of integers is no sum of parts");
    for (int d = 0; d < s.size(); ++d) {
      Value part = s.host->part(local[static_cast<std::size_t>(d)], global, s.graph.dtype(e));
      part = s.near(part, id, d);
      const auto on = s.graph.device(s.devices[static_cast<std::size_t>(d)]);
      s.output(d, e) = scale_nonempty(s.value(d, e), part, str_cat(n.name, "/part_", d)).endpoint();
    }
  }
  return ok_status();
}

// Returns the integers of an output as functions of the batch; nullopt: they are not known.
std::optional<std::vector<AffineSize>> known_sizes(const LowerState& s, Endpoint e) {
  const DType dtype = s.base.dtype(e);
  const PartialInts* const ints = s.sizes.ints(e);
  if ((dtype != DType::kInt32 && dtype != DType::kInt64) || ints == nullptr || s.sizes.shape(e).rank() > 1) {
    return std::nullopt;
  }
  std::vector<AffineSize> sizes;
  for (std::size_t k = 0; k < ints->size(); ++k) {
    const auto f = s.sizes.element(e, static_cast<int>(k));
    if (!f) return std::nullopt;
    sizes.push_back(*f);
  }
  return sizes;
}

void give_known_sizes(LowerState& s, NodeId id) {
  for (std::int32_t k = 0; k < std::ssize(s.base.node(id).output_dtypes); ++k) {
    const Endpoint e{id, k};
    const auto sizes = *known_sizes(s, e);
    std::vector<Value> scalars;
    for (const AffineSize f : sizes) scalars.push_back(s.host->global(f));
    Value v = s.host->pack(scalars, s.base.dtype(e));
    if (s.sizes.shape(e).rank() == 0) {
      const auto on = s.graph.device(kHost);
      v = s.graph.add("Reshape", {v, constant(s.graph, Tensor::vector<std::int32_t>({}))}, {}, "sharding/size");
    }
    for (int d = 0; d < s.size(); ++d) {
      const NodeId copy = s.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(id.index)];
      s.output(d, e) = s.after_effects(s.dead_with(s.near(v, id, d), copy, id), id, d).endpoint();
    }
  }
}

}  // namespace

bool draws_blocks(const LowerState& s, NodeId id) {
  const Node& n = s.base.node(id);
  if (s.size() == 1 || !s.rule(id).draws || s.sharding(id).kind != NodeSharding::Kind::kFactor ||
      n.output_dtypes.size() != 1) {
    return false;
  }
  const Placement& p = s.layout({id, 0});
  const auto size = p.is_shard() ? s.sizes.dim({id, 0}, p.dim) : std::nullopt;
  if (!size || s.base.ops().find(kShardPrefix + n.op->name) == nullptr) return false;
  const std::int64_t rows = p.rounds * p.unit;
  return *size == (s.sizes.is_exact() ? AffineSize{0, rows * s.sizes.nominal()} : AffineSize{rows, 0});
}

bool draws_whole(const LowerState& s, NodeId id) {
  return s.size() > 1 && s.rule(id).draws && s.sharding(id).kind == NodeSharding::Kind::kFactor && !draws_blocks(s, id);
}

Result<NodeId> block_of_draws(LowerState& s, NodeId id, int device) {
  const Node& n = s.base.node(id);
  const Placement& p = s.layout({id, 0});
  NodeSpec spec{.name = s.graph.unique_name(str_cat(n.name, "/shard_", device)),
                .op = kShardPrefix + n.op->name,
                .inputs = {n.inputs.begin(), n.inputs.end()},
                .attrs = n.attributes(),
                .device = std::string(n.device)};
  spec.inputs.push_back(s.near(s.graph.value(Endpoint{s.request.batch[0], 0}), id, device).endpoint());
  spec.attrs.set("B", s.graph.dtype(spec.inputs.back()));
  spec.attrs.set("rows", p.rounds * p.unit);
  spec.attrs.set("axis", std::int64_t{p.dim});
  spec.attrs.set("repeats", p.rounds);
  spec.attrs.set("weights", s.weights);
  spec.attrs.set("index", std::int64_t{device});
  spec.attrs.set("stream", std::string(n.name));
  return s.graph.add_node(std::move(spec));
}

bool reads_shape_of_shard(const LowerState& s, NodeId id) {
  const ShardingRule& rule = s.rule(id);
  if (rule.kind != ShardingRule::Kind::kFactors || s.size() == 1) return false;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    const Graph::Use use{id, static_cast<int>(i)};
    if (rule.inputs[i].kind == Kind::kShapeOnly && s.arrives(use).is_shard()) return true;
  }
  return false;
}

bool gives_known_sizes(const LowerState& s, NodeId id) {
  if (!s.host || !reads_shape_of_shard(s, id)) return false;
  for (std::int32_t k = 0; k < std::ssize(s.base.node(id).output_dtypes); ++k) {
    if (!s.layout({id, k}).is_replicate() || !known_sizes(s, {id, k})) return false;
  }
  return true;
}

Result<Value> padded_shard(LowerState& s, Value own, Endpoint e, const Placement& p, int d) {
  const auto size = s.sizes.dim(e, p.dim);
  const int rank = s.sizes.shape(e).rank();
  if (!size || rank < 0) {
    return cannot_lower(s.base.node(e.node), "it is sharded in a loop, and its size is not known", kSizeBeforeLoop);
  }
  if (s.size() == 1) return own;
  Value paddings;
  {
    const auto on = s.graph.device(kHost);
    const Value rest = s.graph.add("Sub", {s.host->global(*size), s.host->local(*size, p, d)}, {}, "sharding/rest");
    std::vector<Value> counts(2 * static_cast<std::size_t>(rank), s.host->number(0));
    counts[2 * static_cast<std::size_t>(p.dim) + 1] = rest;
    const Value pairs = constant(s.graph, Tensor::vector<std::int64_t>({rank, 2}), "sharding/pairs");
    paddings = s.graph.add("Reshape", {s.host->pack(counts, DType::kInt64), pairs}, {}, "sharding/paddings");
  }
  const Value near = s.near(paddings, e.node, d);
  const auto on = s.graph.device(s.devices[static_cast<std::size_t>(d)]);
  return s.graph.add("Pad", {own, near}, {}, "sharding/padded");
}

Status add_outputs(LowerState& s) {
  if (s.size() == 1) return ok_status();  // a device's shard is the global value
  ARGOSY_RETURN_IF_ERROR(shard_feeds(s));
  for (const NodeId id : s.sizes.order()) {
    if (s.in_step[static_cast<std::size_t>(id.index)] == 0 || s.is_batch(id)) continue;
    if (s.sliced[static_cast<std::size_t>(id.index)] != 0) ARGOSY_RETURN_IF_ERROR(slice_outputs(s, id));
    ARGOSY_RETURN_IF_ERROR(weigh_means(s, id));
    if (gives_known_sizes(s, id)) give_known_sizes(s, id);
  }
  return s.graph.status();
}

}  // namespace argosy
