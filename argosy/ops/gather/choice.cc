// OneHot, Where, Bucketize, SparseToDense: from elements to places and back.
#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/gather_sharding.h"

namespace argosy {

namespace {

Status one_hot_shape(ShapeContext& c) {
  for (int i = 1; i < 4; ++i) {
    if (c.input(i).rank() > 0) {
      return invalid_argument("OneHot: ", c.op().input_args[i].name, " must be a scalar, not of shape ", c.input(i));
    }
  }
  const auto depth = c.input_as_int(1);
  if (depth && *depth < 0) return invalid_argument("OneHot: depth is ", *depth);
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(c.attrs().get_int("axis"), x.rank() + 1, "OneHot"));
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.insert(sizes.begin() + axis, depth.value_or(PartialShape::kUnknown));
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status where_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  c.set_output(0, PartialShape({PartialShape::kUnknown, x.has_rank() ? x.rank() : PartialShape::kUnknown}));
  return ok_status();
}

Status bucketize_shape(ShapeContext& c) {
  const auto& boundaries = c.attrs().get<std::vector<float>>("boundaries");
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    return invalid_argument("Bucketize: boundaries must be sorted");
  }
  return same_as_input(c);
}

Status sparse_to_dense_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape vector, c.with_rank(1, 1));
  if (c.input(0).rank() > 2) {
    return invalid_argument("SparseToDense: sparse_indices must have rank 2 or less, not shape ", c.input(0));
  }
  c.set_output(0, c.input_as_shape(1));
  return ok_status();
}

Value sum_all(Value x) {
  Graph& graph = x.graph();
  const Value axes =
      graph.add("Range", {constant(graph, std::int32_t{0}), graph.add("Rank", {x}), constant(graph, std::int32_t{1})});
  return graph.add("Sum", {x, axes});
}

// The gradient of values is dy at their places; that of the default, the sum of dy elsewhere.
std::vector<Value> sparse_to_dense_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Value indices = g.x(0);
  const int rank = indices.shape().rank();
  if (rank < 0) {
    graph.fail(invalid_argument("SparseToDense: the gradient needs to know the rank of sparse_indices"));
    return std::vector<Value>(4);
  }
  if (rank < 2) {  // a column of places in a vector
    indices = graph.add("Reshape", {indices, constant(graph, Tensor::vector<std::int32_t>({-1, 1}))});
  }
  const Value at = graph.add("GatherNd", {g.dy(), indices});
  const Value total = sum_all(at);
  const int values_rank = g.x(2).shape().rank();
  const Value values = values_rank == 0 ? total : graph.add("Reshape", {at, graph.add("Shape", {g.x(2)})});
  return {Value(), Value(), values, graph.add("Sub", {sum_all(g.dy()), total})};
}

}  // namespace

void define_choices(OpRegistry& ops) {
  ops.add({.name = "OneHot",
           .doc = "A new axis of depth elements: on_value at the index, off_value elsewhere.",
           .inputs = {"indices: TI", "depth: int32", "on_value: T", "off_value: T"},
           .outputs = {"output: T"},
           .attrs = {"axis: int = -1", "T: type", "TI: {uint8, int8, int32, int64} = int64"},
           .shape = one_hot_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding_rule = one_hot_sharding,
           .host_inputs = {1}});
  ops.add({.name = "Where",
           .doc = "Coordinates of the elements that are not zero, in row-major order.",
           .inputs = {"input: T"},
           .outputs = {"index: int64"},
           .attrs = {"T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
                     "qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = bool"},
           .shape = where_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "whole: it numbers all elements"});
  ops.add({.name = "Bucketize",
           .doc = "How many of the sorted boundaries do not exceed each element.",
           .inputs = {"input: T"},
           .outputs = {"output: int32"},
           .attrs = {"T: {int32, int64, float, double}", "boundaries: list(float)"},
           .shape = bucketize_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true,
           .sharding = "i.. -> i.."});
  ops.add({.name = "SparseToDense",
           .doc = "default_value everywhere but at sparse_indices.",
           .inputs = {"sparse_indices: Tindices", "output_shape: Tindices", "sparse_values: T", "default_value: T"},
           .outputs = {"dense: T"},
           .attrs = {"validate_indices: bool = true", "T: type", "Tindices: index"},
           .shape = sparse_to_dense_shape,
           .gradient = sparse_to_dense_gradient,
           .sharding = "whole: its indices count all rows",
           .host_inputs = {1, 3}});
}

Value one_hot(Value indices, int depth, int axis, double on_value, double off_value, DType dtype) {
  if (!indices.valid()) return indices;
  Graph& graph = indices.graph();
  Tensor values[2] = {Tensor::zeros(dtype, {}), Tensor::zeros(dtype, {})};
  const Status made = dispatch<NumberTypes>(dtype, "one_hot", [&]<typename T>() {
    *values[0].data<T>() = T(on_value);
    *values[1].data<T>() = T(off_value);
    return ok_status();
  });
  if (!made.ok()) graph.fail(made);
  return graph.add(
      "OneHot", {indices, constant(graph, std::int32_t{depth}), constant(graph, values[0]), constant(graph, values[1])},
      {{"axis", axis}});
}
Value where(Value condition) { return condition.valid() ? condition.graph().add("Where", {condition}) : condition; }
Value bucketize(Value x, const std::vector<float>& boundaries) {
  return x.valid() ? x.graph().add("Bucketize", {x}, {{"boundaries", boundaries}}) : x;
}

}  // namespace argosy
