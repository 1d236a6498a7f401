#include "argosy/ops/ragged/ragged.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/ragged/ragged_rows.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/segment/segment.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status splits_are_vectors(const ShapeContext& c, int count) {
  for (int i = 0; i < count; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape splits, c.with_rank(i, 1));
    if (splits[0] == 0) return invalid_argument(c.op().name, ": row splits need one element at least");
  }
  return ok_status();
}

Status range_shape(ShapeContext& c) {
  std::int64_t rows = kUnknownSize;
  bool open = false;
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).rank() > 1)
      return invalid_argument("RaggedRange: input ", i, " must be a scalar or a vector, not ", c.input(i));
    if (!c.input(i).has_rank()) open = true;
    if (c.input(i).rank() != 1) continue;
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape same, PartialShape{rows}.merge(c.input(i)));
    rows = same[0];
  }
  bool all_scalars = !open;
  for (int i = 0; i < 3; ++i) all_scalars = all_scalars && c.input(i).rank() == 0;
  if (all_scalars) rows = 1;
  c.set_output(0, PartialShape{rows < 0 ? kUnknownSize : rows + 1});
  c.set_output(1, PartialShape{kUnknownSize});
  return ok_status();
}

Status gather_shape(ShapeContext& c) {
  const int nested = c.num_inputs() - 2;
  ARGOSY_RETURN_IF_ERROR(splits_are_vectors(c, nested));
  const PartialShape& values = c.input(nested);
  const PartialShape& indices = c.input(nested + 1);
  if (values.rank() == 0) return invalid_argument("RaggedGather: values must have a rank of at least 1");
  if (indices.has_rank() && indices.rank() + nested - 1 != c.num_outputs() - 1) {
    return invalid_argument("RaggedGather: OUTPUT_RAGGED_RANK must be ", indices.rank() + nested - 1, ", not ",
                            c.num_outputs() - 1);
  }
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, PartialShape{kUnknownSize});
  if (!values.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = values.sizes();
  sizes[0] = kUnknownSize;
  c.set_output(c.num_outputs() - 1, PartialShape(std::move(sizes)));
  return ok_status();
}

Status to_sparse_shape(ShapeContext& c) {
  const int nested = c.num_inputs() - 1;
  ARGOSY_RETURN_IF_ERROR(splits_are_vectors(c, nested));
  const PartialShape& values = c.input(nested);
  if (values.rank() == 0) return invalid_argument("RaggedTensorToSparse: values must have a rank of at least 1");
  const std::int64_t rank = values.has_rank() ? values.rank() + nested : kUnknownSize;
  const std::int64_t count = values.elements();
  c.set_output(0, PartialShape{count, rank});
  c.set_output(1, PartialShape{count});
  c.set_output(2, PartialShape{rank});
  return ok_status();
}

Status to_tensor_shape(ShapeContext& c) {
  const auto& types = c.attrs().get<std::vector<std::string>>("row_partition_types");
  if (static_cast<int>(types.size()) != c.num_inputs() - 3) {
    return invalid_argument("RaggedTensorToTensor: ", types.size(), " row_partition_types for ", c.num_inputs() - 3,
                            " tensors");
  }
  return ok_status();
}

Status to_variant_shape(ShapeContext& c) {
  const int nested = c.num_inputs() - 1;
  ARGOSY_RETURN_IF_ERROR(splits_are_vectors(c, nested));
  if (!c.attrs().get_bool("batched_input")) {
    c.set_output(0, PartialShape::scalar());
    return ok_status();
  }
  const PartialShape& outer = c.input(0);
  if (nested == 0) {
    if (outer.rank() == 0) return invalid_argument("RaggedTensorToVariant: a batch needs a rank of at least 1");
    c.set_output(0, PartialShape{outer.has_rank() ? outer[0] : kUnknownSize});
    return ok_status();
  }
  c.set_output(0, PartialShape{outer.has_rank() && outer[0] > 0 ? outer[0] - 1 : kUnknownSize});
  return ok_status();
}

Status to_variant_gradient_shape(ShapeContext& c) {
  c.set_output(0, c.input_as_shape(2));
  return ok_status();
}

Status from_variant_shape(ShapeContext& c) {
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, PartialShape{kUnknownSize});
  return ok_status();
}

// --- gradients -------------------------------------------------------------------------------------------------------

Value rest(Value splits) { return slice(splits, {1}, {-1}); }

// Which values each gathered row covers, and so where each row of dy goes.
std::vector<Value> gather_gradient(GradContext& g) {
  const int nested = g.num_inputs() - 2;
  Value ends = g.x(0);
  for (int i = 1; i < nested; ++i) ends = gather(g.x(i), ends);
  const Value values = g.x(nested), chosen = reshape(g.x(nested + 1), {-1});
  const Value one = constant_like(reshape(slice(ends, {0}, {1}), std::vector<std::int64_t>{}), 1.0);
  const RaggedValue places = ragged_range(gather(ends, chosen), gather(rest(ends), chosen), one);
  const Value count = squeeze(slice(shape(values), {0}, {1}), {0});
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx[static_cast<std::size_t>(nested)] = unsorted_segment_sum(g.dy(g.num_outputs() - 1), places.values, count);
  return dx;
}

std::vector<Value> to_sparse_gradient(GradContext& g) {
  const int nested = g.num_inputs() - 1;
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx.back() = reshape(g.dy(1), shape(g.x(nested)));
  return dx;
}

// Numbers the values and sends the numbers along: they say which value each place of the result has, -1 for none.
std::vector<Value> to_tensor_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value values = g.x(1), fallback = g.x(2), dy = g.dy();
  const auto& types = g.attrs().get<std::vector<std::string>>("row_partition_types");
  const auto axes = static_cast<std::int64_t>(types.size()) + (types[0] == "FIRST_DIM_SIZE" ? 0 : 1);
  const Value count = squeeze(slice(shape(values), {0}, {1}), {0});
  const Value numbers = range(constant(graph, 0), count, constant(graph, 1));
  const Value outer = slice(shape(dy, g.x(0).dtype()), {0}, {axes});
  std::vector<Value> inputs = {outer, numbers, constant(graph, -1)};
  for (int i = 3; i < g.num_inputs(); ++i) inputs.push_back(g.x(i));
  const Value which = graph.add("RaggedTensorToTensor", inputs, {{"row_partition_types", types}});
  const Value flat = reshape(which, {-1});
  const Value inner = rest(shape(values));
  const Value lines = reshape(dy, concat({constant(graph, Tensor::vector<std::int32_t>({-1})), inner}, 0));
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx[1] = unsorted_segment_sum(lines, flat, count);
  const Value nobodys = unsorted_segment_sum(lines, cast(greater_equal(flat, 0), DType::kInt32), constant(graph, 2));
  const Value filled = reshape(slice(reshape(nobodys, {2, -1}), {0, 0}, {1, -1}), inner);
  dx[2] = sum_to_shape_of(fallback, filled);
  return dx;
}

std::vector<Value> to_variant_gradient(GradContext& g) {
  const int nested = g.num_inputs() - 1;
  Graph& graph = g.graph();
  const Value splits = nested > 0 ? g.x(0) : constant(graph, std::int64_t{0});
  std::vector<Value> dx(static_cast<std::size_t>(g.num_inputs()));
  dx.back() = graph.add("RaggedTensorToVariantGradient", {g.dy(), splits, shape(g.x(nested))},
                        {{"Tvalues", g.x(nested).dtype()}});
  return dx;
}

std::vector<Value> from_variant_gradient(GradContext& g) {
  const int rank = g.x(0).shape().rank();
  Graph& graph = g.graph();
  if (rank != 0 && rank != 1) {
    graph.fail(unimplemented("RaggedTensorFromVariant: the gradient needs variants of rank 0 or 1, not of shape ",
                             g.x(0).shape()));
    return {Value()};
  }
  const int nested = g.num_outputs() - 1;
  std::vector<Value> inputs;
  for (int i = 0; i < nested; ++i) inputs.push_back(g.y(i));
  inputs.push_back(g.dy(nested));
  return {graph.add("RaggedTensorToVariant", inputs,
                    {{"batched_input", rank == 1},
                     {"RAGGED_RANK", nested},
                     {"Tsplits", g.attrs().get_type("Tsplits")},
                     {"Tvalues", g.attrs().get_type("Tvalues")}})};
}

}  // namespace

static void add_ragged_ops(OpRegistry& ops) {
  define_ragged_rows(ops);
  define_composites(ops);
  ops.add({.name = "RaggedRange",
           .doc = "Ranges of numbers, as ragged rows.",
           .inputs = {"starts: T", "limits: T", "deltas: T"},
           .outputs = {"rt_nested_splits: Tsplits", "rt_dense_values: T"},
           .attrs = {"T: {bfloat16, float, double, int32, int64} = int32", "Tsplits: index = int64"},
           .shape = range_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  ops.add({.name = "RaggedGather",
           .doc = "Rows of a ragged tensor.",
           .inputs = {"params_nested_splits: PARAMS_RAGGED_RANK * Tsplits", "params_dense_values: Tvalues",
                      "indices: Tindices"},
           .outputs = {"output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits", "output_dense_values: Tvalues"},
           .attrs = {"Tvalues: type", "Tindices: index", "Tsplits: index = int64", "PARAMS_RAGGED_RANK: int >= 1",
                     "OUTPUT_RAGGED_RANK: int >= 0"},
           .shape = gather_shape,
           .gradient = gather_gradient,
           .cpu_only = true});
  ops.add({.name = "RaggedTensorToSparse",
           .doc = "A ragged tensor as a sparse one.",
           .inputs = {"rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: T"},
           .outputs = {"sparse_indices: int64", "sparse_values: T", "sparse_dense_shape: int64"},
           .attrs = {"RAGGED_RANK: int >= 1", "T: type", "Tsplits: index = int64"},
           .shape = to_sparse_shape,
           .gradient = to_sparse_gradient,
           .cpu_only = true});
  ops.add({.name = "RaggedTensorToTensor",
           .doc = "A ragged tensor as a dense one, filled up with a default.",
           .inputs = {"shape: Tshape", "values: T", "default_value: T",
                      "row_partition_tensors: num_row_partition_tensors * Tindex"},
           .outputs = {"result: T"},
           .attrs = {"T: type", "Tindex: index", "Tshape: index", "num_row_partition_tensors: int >= 1",
                     "row_partition_types: list(string)"},
           .shape = to_tensor_shape,
           .gradient = to_tensor_gradient,
           .cpu_only = true});
  ops.add({.name = "RaggedTensorToVariant",
           .doc = "A ragged tensor, or each of its rows, as a variant.",
           .inputs = {"rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: Tvalues"},
           .outputs = {"encoded_ragged: variant"},
           .attrs = {"RAGGED_RANK: int >= 0", "Tvalues: type", "Tsplits: index = int64", "batched_input: bool"},
           .shape = to_variant_shape,
           .gradient = to_variant_gradient,
           .cpu_only = true});
  ops.add({.name = "RaggedTensorToVariantGradient",
           .doc = "What flows back through RaggedTensorToVariant.",
           .inputs = {"encoded_ragged_grad: variant", "row_splits: Tsplits", "dense_values_shape: int32"},
           .outputs = {"dense_values_grad: Tvalues"},
           .attrs = {"Tvalues: type", "Tsplits: index = int64"},
           .shape = to_variant_gradient_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "RaggedTensorFromVariant",
           .doc = "The ragged tensor that variants hold.",
           .inputs = {"encoded_ragged: variant"},
           .outputs = {"output_nested_splits: output_ragged_rank * Tsplits", "output_dense_values: Tvalues"},
           .attrs = {"input_ragged_rank: int >= -1", "output_ragged_rank: int >= 0", "Tvalues: type",
                     "Tsplits: index = int64"},
           .shape = from_variant_shape,
           .gradient = from_variant_gradient,
           .cpu_only = true});
}

void define_ragged(OpRegistry& ops) {
  with_sharding(ops, add_ragged_ops, {}, "whole: splits of ragged rows count all values");
}

RaggedValue ragged_range(Value starts, Value limits, Value deltas) {
  if (!starts.valid()) return {{Value()}, Value()};
  const Value y = starts.graph().add("RaggedRange", {starts, limits, deltas});
  return {{y}, y.output(1)};
}

RaggedValue ragged_gather(const RaggedValue& x, Value indices) {
  if (!x.values.valid() || !indices.valid()) return {{}, Value()};
  const int nested = static_cast<int>(x.splits.size()) + indices.shape().rank() - 1;
  std::vector<Value> inputs = x.splits;
  inputs.push_back(x.values);
  inputs.push_back(indices);
  const Value y = x.values.graph().add("RaggedGather", inputs, {{"OUTPUT_RAGGED_RANK", nested}});
  RaggedValue gathered;
  for (int i = 0; i < nested; ++i) gathered.splits.push_back(y.output(i));
  gathered.values = y.output(nested);
  return gathered;
}

Value ragged_to_tensor(const RaggedValue& x, Value shape, Value default_value) {
  if (!x.values.valid()) return {};
  std::vector<Value> inputs = {shape, x.values, default_value};
  inputs.insert(inputs.end(), x.splits.begin(), x.splits.end());
  return x.values.graph().add("RaggedTensorToTensor", inputs,
                              {{"row_partition_types", std::vector<std::string>(x.splits.size(), "ROW_SPLITS")}});
}

}  // namespace argosy
