#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/gather/gather_registration.h"

namespace argosy {

namespace {

Status top_shape(ShapeContext& c, std::optional<std::int64_t> k) {
  const PartialShape& x = c.input(0);
  if (k && *k < 0) return invalid_argument(c.op().name, ": k is ", *k);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument(c.op().name, ": the input is a scalar, which has no axis");
  std::vector<std::int64_t> sizes = x.sizes();
  if (k && sizes.back() >= 0 && sizes.back() < *k) {
    return invalid_argument("input must have at least k columns. Had ", x[x.rank() - 1], ", needed ", *k, ": ",
                            c.op().name, ": the last axis of ", x, " has no ", *k, " elements");
  }
  sizes.back() = k.value_or(PartialShape::kUnknown);
  c.set_all_outputs(PartialShape(std::move(sizes)));
  return ok_status();
}
Status top_k_shape(ShapeContext& c) { return top_shape(c, c.attrs().get_int("k")); }
Status top_k_v2_shape(ShapeContext& c) {
  if (c.input(1).rank() > 0) return invalid_argument("TopKV2: k must be a scalar, not of shape ", c.input(1));
  return top_shape(c, c.input_as_int(1));
}

// The gradient is scattered back to the elements that were chosen along the last axis.
std::vector<Value> top_k_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value shape = graph.add("Shape", {g.x(0)});
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = graph.add("_GatherGrad", {g.dy(), g.y(1), shape, constant(graph, std::int32_t{-1})}, {{"batch_dims", -1}});
  return dxs;
}

Status in_top_k_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape predictions, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape targets, c.with_rank(1, 1));
  if (c.num_inputs() == 3 && c.input(2).rank() > 0) {
    return invalid_argument("InTopKV2: k must be a scalar, not of shape ", c.input(2));
  }
  auto batch = targets.merge({predictions[0]});
  if (!batch.ok()) {
    return invalid_argument(c.op().name, ": predictions ", predictions, " for targets ", targets);
  }
  c.set_output(0, *std::move(batch));
  return ok_status();
}

Cost top_k_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops += cost.bytes;
  return cost;
}

}  // namespace

void define_top_k(OpRegistry& ops) {
  const std::string real =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
  ops.add({.name = "TopK",
           .doc = "The k largest along the last axis, in descending order, and where they were.",
           .inputs = {"input: T"},
           .outputs = {"values: T", "indices: int32"},
           .attrs = {"k: int >= 0", "sorted: bool = true", real},
           .shape = top_k_shape,
           .gradient = top_k_gradient,
           .cost = top_k_cost,
           .sharding = "i.. c -> i.. 1, i.. 1; whole c"});
  ops.add({.name = "TopKV2",
           .doc = "The k largest along the last axis, in descending order, and where they were.",
           .inputs = {"input: T", "k: Tk"},
           .outputs = {"values: T", "indices: index_type"},
           .attrs = {"sorted: bool = true", real, "Tk: {int16, int32, int64} = int32",
                     "index_type: {int16, int32, int64} = int32"},
           .shape = top_k_v2_shape,
           .gradient = top_k_gradient,
           .cost = top_k_cost,
           .sharding = "i.. c, . -> i.. 1, i.. 1; whole c",
           .host_inputs = {1}});
  ops.add({.name = "ApproxTopK",
           .doc = "The k largest along the last axis, in descending order, and where they were: all of them, as on "
                  "TensorFlow's CPU.",
           .inputs = {"input: T"},
           .outputs = {"values: T", "indices: int32"},
           .attrs = {"k: int >= 0", "reduction_dimension: int = -1", "recall_target: float = 0.95",
                     "is_max_k: bool = true", "reduction_input_size_override: int = -1",
                     "aggregate_to_topk: bool = true", "T: {half, bfloat16, float}"},
           .shape = top_k_shape,
           .gradient = top_k_gradient,
           .cost = top_k_cost,
           .sharding = "whole: an attribute says which dimension it searches, and in what parts"});
  ops.add({.name = "InTopK",
           .doc = "Is the target's prediction among the k largest of its row?",
           .inputs = {"predictions: float", "targets: T"},
           .outputs = {"precision: bool"},
           .attrs = {"k: int", "T: index = int32"},
           .shape = in_top_k_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "n c, n -> n; whole c"});
  ops.add({.name = "InTopKV2",
           .doc = "Is the target's prediction among the k largest of its row?",
           .inputs = {"predictions: float", "targets: T", "k: T"},
           .outputs = {"precision: bool"},
           .attrs = {"T: index = int32"},
           .shape = in_top_k_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "n c, n, . -> n; whole c",
           .host_inputs = {2}});
}

TopValues top_k(Value x, int k, bool sorted) {
  if (!x.valid()) return {};
  const Value values = x.graph().add("TopKV2", {x, constant(x.graph(), std::int32_t{k})}, {{"sorted", sorted}});
  return {values, values.output(1)};
}

Value in_top_k(Value predictions, Value targets, int k) {
  if (!predictions.valid() || !targets.valid()) return {};
  Graph& graph = predictions.graph();
  const Value limit =
      targets.dtype() == DType::kInt64 ? constant(graph, std::int64_t{k}) : constant(graph, std::int32_t{k});
  return graph.add("InTopKV2", {predictions, targets, limit});
}

}  // namespace argosy
