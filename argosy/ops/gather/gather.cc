#include "argosy/ops/gather/gather.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/gather_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// params[:axis] + indices[batch:] + params[axis + 1:].
Status gathered_shape(ShapeContext& c, std::int64_t given_axis, std::int64_t given_batch) {
  const PartialShape& params = c.input(0);
  const PartialShape& indices = c.input(1);
  if (!params.has_rank() || !indices.has_rank()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given_axis, params.rank(), c.op().name));
  const std::int64_t batch = given_batch < 0 ? given_batch + indices.rank() : given_batch;
  if (batch < 0 || batch > indices.rank() || batch > axis) {
    return invalid_argument(c.op().name, ": batch_dims ", given_batch, " with axis ", axis, " for params ", params,
                            " and indices ", indices);
  }
  std::vector<std::int64_t> sizes(params.sizes().begin(), params.sizes().begin() + axis);
  for (int i = 0; i < batch; ++i) {
    if (params[i] >= 0 && indices[i] >= 0 && params[i] != indices[i]) {
      return invalid_argument(c.op().name, ": batch axis ", i, " differs between params ", params, " and indices ",
                              indices);
    }
    sizes[i] = std::max(params[i], indices[i]);
  }
  sizes.insert(sizes.end(), indices.sizes().begin() + batch, indices.sizes().end());
  sizes.insert(sizes.end(), params.sizes().begin() + axis + 1, params.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status gather_shape(ShapeContext& c) { return gathered_shape(c, 0, 0); }

Status gather_v2_shape(ShapeContext& c) {
  if (c.input(2).rank() > 0) return invalid_argument("GatherV2: axis must be a scalar, not of shape ", c.input(2));
  if (c.input(0).rank() == 0) return invalid_argument("params must be at least 1 dimensional");
  const std::int64_t batch = c.attrs().get_int("batch_dims");
  const auto axis = c.input_as_int(2);
  if (axis) return gathered_shape(c, *axis, batch);
  const int params = c.input(0).rank();
  const int indices = c.input(1).rank();
  if (params < 0 || indices < 0) return ok_status();
  const std::int64_t together = batch < 0 ? batch + indices : batch;
  if (together < 0 || together > indices || together >= params) {  // too many for any axis
    return invalid_argument("GatherV2: batch_dims ", batch, " for params ", c.input(0), " and indices ", c.input(1));
  }
  c.set_output(0, PartialShape::unknown_of_rank(static_cast<int>(params - 1 + indices - together)));
  return ok_status();
}

std::optional<PartialInts> gathered_ints(const ShapeContext& c, int) {
  const PartialInts* const params = c.ints(0);
  const PartialInts* const indices = c.ints(1);
  if (params == nullptr || indices == nullptr || c.input(0).rank() != 1) return std::nullopt;
  PartialInts y;
  for (const auto& i : *indices) {
    const bool in_range = i && *i >= 0 && *i < static_cast<std::int64_t>(params->size());
    y.push_back(in_range ? c.int_at(0, static_cast<int>(*i)) : std::nullopt);
  }
  return y;
}

// y = gather(params, indices) along axis 0  =>  dparams[indices] += dy: a sum of segments, one per row of params
Value rows_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value params = g.x(0);
  const Value minus_one = constant(graph, Tensor::vector<std::int32_t>({-1}));
  const Value indices = graph.add("Reshape", {g.x(1), minus_one});
  const PartialShape& shape = params.shape();
  const auto part = [&](Value sizes, std::int32_t from, std::int32_t size) {
    return graph.add("Slice", {sizes, constant(graph, Tensor::vector<std::int32_t>({from})),
                               constant(graph, Tensor::vector<std::int32_t>({size}))});
  };
  const Value sizes = graph.add("Shape", {params});
  const Value count = graph.add("Size", {indices});
  const Value row_sizes =
      shape.rank() == 1
          ? minus_one
          : graph.add("ConcatV2", {graph.add("Reshape", {count, constant(graph, Tensor::vector<std::int32_t>({1}))}),
                                   part(sizes, 1, -1), constant(graph, std::int32_t{0})});
  const Value rows = graph.add("Reshape", {g.dy(), row_sizes});
  const Value num_rows = graph.add("Reshape", {part(sizes, 0, 1), constant(graph, Tensor::vector<std::int32_t>({}))});
  return graph.add("UnsortedSegmentSum", {rows, indices, num_rows});
}

std::vector<Value> gather_gradient(GradContext& g) { return {rows_gradient(g), Value()}; }

std::vector<Value> gather_v2_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const PartialInts* const axis = graph.known_ints(g.x(2).endpoint());
  const std::int64_t batch = g.attrs().get_int("batch_dims");
  const bool rows = axis != nullptr && axis->size() == 1 && (*axis)[0] == 0 && batch == 0;
  const bool plain_index = g.x(1).dtype() != DType::kInt16;  // segment sums take int32 and int64
  if (rows && plain_index) return {rows_gradient(g), Value(), Value()};
  const Value shape = graph.add("Shape", {g.x(0)});
  return {graph.add("_GatherGrad", {g.dy(), g.x(1), shape, g.x(2)}, {{"batch_dims", batch}}), Value(), Value()};
}

Status gather_grad_shape(ShapeContext& c) {
  c.set_output(0, c.input_as_shape(2));
  return ok_status();
}

std::vector<Value> gather_grad_gradient(GradContext& g) {
  const Value ddy =
      g.graph().add("GatherV2", {g.dy(), g.x(1), g.x(3)}, {{"batch_dims", g.attrs().get_int("batch_dims")}});
  return {ddy, Value(), Value(), Value()};
}

}  // namespace

void define_gathers(OpRegistry& ops) {
  ops.add({.name = "Gather",
           .doc = "Rows of params, by index.",
           .inputs = {"params: Tparams", "indices: Tindices"},
           .outputs = {"output: Tparams"},
           .attrs = {"validate_indices: bool = true", "Tparams: type", "Tindices: index"},
           .shape = gather_shape,
           .gradient = gather_gradient,
           .known_ints = gathered_ints,
           .sharding = "v d.., n.. -> n.. d..; rows v; linear 0"});
  ops.add({.name = "GatherV2",
           .doc = "Slices of params along an axis, by index; the first batch_dims axes of both go together.",
           .inputs = {"params: Tparams", "indices: Tindices", "axis: Taxis"},
           .outputs = {"output: Tparams"},
           .attrs = {"batch_dims: int = 0", "Tparams: type", "Tindices: {int16, int32, int64}", "Taxis: index"},
           .shape = gather_v2_shape,
           .gradient = gather_v2_gradient,
           .known_ints = gathered_ints,
           .sharding_rule = gather_v2_sharding,
           .host_inputs = {2}});
  ops.add({.name = "_GatherGrad",
           .doc = "Zeros of params_shape, to which dy is added where a GatherV2 of these indices reads.",
           .inputs = {"dy: T", "indices: Tindices", "params_shape: int32", "axis: Taxis"},
           .outputs = {"output: T"},
           .attrs = {"batch_dims: int = 0", "T: number", "Tindices: {int16, int32, int64}", "Taxis: index"},
           .shape = gather_grad_shape,
           .gradient = gather_grad_gradient,
           .sharding_rule = gather_grad_sharding,
           .host_inputs = {2, 3}});
}

static void add_gather_ops(OpRegistry& ops) {
  define_gathers(ops);
  define_scatters(ops);
  define_choices(ops);
  define_uniques(ops);
  define_partitions(ops);
  define_top_k(ops);
  define_beams(ops);
}

void define_gather(OpRegistry& ops) {
  with_sharding(ops, add_gather_ops,
                {{"TensorScatterUpdate", {}, linear_scatter_nd_into_sharding},
                 {"TensorScatterAdd", {}, linear_scatter_nd_into_sharding},
                 {"TensorScatterSub", {}, linear_scatter_nd_into_sharding},
                 {"TensorScatterMax", {}, scatter_nd_into_sharding},
                 {"TensorScatterMin", {}, scatter_nd_into_sharding},
                 {"Unique", "whole: it compares all elements with all others"},
                 {"UniqueWithCounts", "whole: it compares all elements with all others"},
                 {"UniqueV2", "whole: it compares all elements with all others"},
                 {"UniqueWithCountsV2", "whole: it compares all elements with all others"},
                 {"DynamicStitch", "whole: indices say where each row goes"},
                 {"ParallelDynamicStitch", "whole: indices say where each row goes"}});
}

Value gather(Value params, Value indices, int axis, int batch_dims) {
  if (!params.valid()) return params;
  return params.graph().add("GatherV2", {params, indices, constant(params.graph(), std::int32_t{axis})},
                            {{"batch_dims", batch_dims}});
}

}  // namespace argosy
