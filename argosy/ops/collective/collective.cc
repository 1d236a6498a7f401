#include "argosy/ops/collective/collective.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/collective/named_groups.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

using Int64s = std::vector<std::int64_t>;

Result<std::pair<std::int64_t, std::int64_t>> shard_of(const AttrMap& attrs, std::int64_t batch) {
  return shard_batch(batch, attrs.get<Int64s>("weights"), attrs.get_int("index"));
}

Status shard_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(shard_of(c.attrs(), 0).status());
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument("_ShardBatch: a scalar has no rows to shard");
  std::vector<std::int64_t> sizes = x.sizes();
  if (sizes[0] >= 0) {
    ARGOSY_ASSIGN_OR_RETURN(const auto rows, shard_of(c.attrs(), sizes[0]));
    sizes[0] = rows.second - rows.first;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status factor_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(shard_of(c.attrs(), 0).status());
  if (c.input(0).has_rank() && c.input(0).rank() == 0) {
    return invalid_argument("_ShardWeight: a scalar has no rows to shard");
  }
  return scalar_output(c);
}

Status scale_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  c.set_output(0, c.input(0));
  return ok_status();
}

// Every shard contributes tensors of the same shapes, in the same order.
Status all_reduce_shape(ShapeContext& c) {
  const std::int64_t outputs = c.attrs().get_int("M"), inputs = c.attrs().get_int("N");
  const std::int64_t rank = c.attrs().get_int("rank"), size = c.attrs().get_int("size");
  const auto& shards = c.attrs().get<Int64s>("shards");
  if (c.attrs().get_string("group").empty()) return invalid_argument("_AllReduce: the group has no name");
  if (rank >= size) return invalid_argument("_AllReduce: rank ", rank, " of a group of ", size);
  for (const std::int64_t s : shards) {
    if (s < 0 || s >= c.attrs().get_int("total")) {
      return invalid_argument("_AllReduce: shard ", s, " of ", c.attrs().get_int("total"));
    }
  }
  const auto copies = shards.empty() ? std::int64_t{1} : static_cast<std::int64_t>(shards.size());
  if (inputs % copies != 0 || inputs / copies != outputs) {
    return invalid_argument("_AllReduce: ", inputs, " values of ", copies, " shards cannot be ", outputs, " sums");
  }
  for (std::int64_t i = 0; i < outputs; ++i) {
    PartialShape shape = c.input(static_cast<int>(i));
    for (std::int64_t s = 1; s < copies; ++s) {
      auto merged = shape.merge(c.input(static_cast<int>(s * outputs + i)));
      if (!merged.ok()) return invalid_argument("_AllReduce: value ", i, ": ", merged.status().message());
      shape = std::move(*merged);
    }
    c.set_output(static_cast<int>(i), std::move(shape));
  }
  return ok_status();
}

// y = x * factor => dx = dy * factor. The factor depends on the batch alone, not on variables.
std::vector<Value> scale_gradient(GradContext& g) { return {scale_nonempty(g.dy(), g.x(1)), Value()}; }

}  // namespace

void define_shard_collectives(OpRegistry& ops);
void define_task_values(OpRegistry& ops);

static void add_collective_ops(OpRegistry& ops) {
  define_named_groups(ops);
  define_shard_collectives(ops);
  const std::vector<std::string> shard_attrs = {"index: int >= 0", "weights: list(int) >= 1"};
  ops.add({.name = "_ShardBatch",
           .doc = "The rows of x that are one shard of the batch.",
           .inputs = {"x: T"},
           .outputs = {"rows: T"},
           .attrs = {"T: type", shard_attrs[0], shard_attrs[1]},
           .shape = shard_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .forwards = true});
  ops.add({.name = "_ShardWeight",
           .doc = "What part of x's rows one shard of the batch has.",
           .inputs = {"x: X"},
           .outputs = {"factor: T"},
           .attrs = {"X: type", "T: floating", shard_attrs[0], shard_attrs[1]},
           .shape = factor_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .blocks_gradient = true,
           .reads = Reads::kRows,
           .host_inputs = {0},  // it counts rows: no batch has to travel for that
           .host_outputs = {0}});
  ops.add({.name = "_ScaleNonempty",
           .doc = "x * factor; zeros where the factor is 0.",
           .inputs = {"x: T", "factor: T"},
           .outputs = {"y: T"},
           .attrs = {"T: floating"},
           .shape = scale_shape,
           .gradient = scale_gradient,
           .linear = Linear::kEach,
           .in_place = {{0, 0}},
           .host_inputs = {1}});
  ops.add({.name = "_AllReduce",
           .doc = "Elementwise sums over the nodes of a group, one on each rank.",
           .inputs = {"values: N * T"},
           .outputs = {"sums: M * T"},
           .attrs = {"T: number", "N: int >= 1", "M: int >= 1", "group: string", "rank: int >= 0", "size: int >= 1",
                     "shards: list(int) = []", "total: int = 0"},
           .shape = all_reduce_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .async = true,
           .collective = true});
}

void define_collective(OpRegistry& ops) {
  with_sharding(ops, add_collective_ops, {}, "whole: its group is made by hand, or by lowering");
  define_task_values(ops);
}

Value shard_batch(Value x, const Int64s& weights, std::int64_t index, std::string_view name) {
  if (!x.valid()) return {};
  return x.graph().add("_ShardBatch", {x}, {{"weights", weights}, {"index", index}}, name);
}

Value shard_weight(Value x, const Int64s& weights, std::int64_t index, DType dtype, std::string_view name) {
  if (!x.valid()) return {};
  return x.graph().add("_ShardWeight", {x}, {{"weights", weights}, {"index", index}, {"T", dtype}}, name);
}

Value scale_nonempty(Value x, Value factor, std::string_view name) {
  return x.valid() ? x.graph().add("_ScaleNonempty", {x, factor}, {}, name) : x;
}

std::vector<Value> all_reduce(const std::vector<Value>& values, const AllReduceSpec& spec, std::string_view name) {
  if (values.empty() || !values[0].valid()) return {};
  const std::size_t outputs = values.size() / std::max<std::size_t>(spec.shards.size(), 1);
  const Value node = values[0].graph().add("_AllReduce", values,
                                           {{"group", spec.group},
                                            {"rank", spec.rank},
                                            {"size", spec.size},
                                            {"shards", spec.shards},
                                            {"total", spec.total},
                                            {"M", outputs}},
                                           name);
  std::vector<Value> sums;
  for (std::size_t i = 0; i < outputs; ++i) sums.push_back(node.output(static_cast<int>(i)));
  return sums;
}

}  // namespace argosy
