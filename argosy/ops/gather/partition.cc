#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/gather/gather_registration.h"

namespace argosy {

namespace {

// Returns `shape` without its leading axes, which must equal `prefix`.
Result<PartialShape> behind(std::string_view op, const PartialShape& shape, const PartialShape& prefix) {
  if (!shape.has_rank() || !prefix.has_rank()) return PartialShape::unknown();
  bool fits = prefix.rank() <= shape.rank();
  for (int i = 0; fits && i < prefix.rank(); ++i) {
    fits = prefix[i] < 0 || shape[i] < 0 || prefix[i] == shape[i];
  }
  if (!fits) return invalid_argument(op, ": data of shape ", shape, " does not begin with ", prefix);
  return PartialShape(std::vector(shape.sizes().begin() + prefix.rank(), shape.sizes().end()));
}

PartialShape rows_of(const PartialShape& row, std::int64_t count) {
  if (!row.has_rank()) return row;
  std::vector<std::int64_t> sizes = row.sizes();
  sizes.insert(sizes.begin(), count);
  return PartialShape(std::move(sizes));
}

Status partition_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape row, behind("DynamicPartition", c.input(0), c.input(1)));
  c.set_all_outputs(rows_of(row, PartialShape::kUnknown));
  return ok_status();
}

Status stitch_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  PartialShape row;
  std::int64_t rows = 0;
  for (int i = 0; i < n; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape one, behind(c.op().name, c.input(n + i), c.input(i)));
    ARGOSY_ASSIGN_OR_RETURN(row, row.merge(one));
    const PartialInts* const known = c.ints(i);
    if (known == nullptr) rows = PartialShape::kUnknown;
    for (std::size_t k = 0; known != nullptr && k < known->size(); ++k) {
      const auto index = (*known)[k];
      if (index && *index < 0) return invalid_argument(c.op().name, ": indices[", i, "][", k, "] is ", *index);
      rows = rows < 0 || !index ? PartialShape::kUnknown : std::max(rows, *index + 1);
    }
  }
  c.set_output(0, rows_of(row, rows));
  return ok_status();
}

std::optional<PartialInts> stitch_ints(const ShapeContext& c, int) {
  const int n = c.num_inputs() / 2;
  if (c.output(0).rank() != 1 || c.output(0)[0] < 0 || c.output(0)[0] > 1024) return std::nullopt;
  PartialInts y(static_cast<std::size_t>(c.output(0)[0]));
  for (int i = 0; i < n; ++i) {
    const PartialInts& indices = *c.ints(i);  // known, or the size of the output would not be
    for (std::size_t k = 0; k < indices.size(); ++k) {
      y[static_cast<std::size_t>(*indices[k])] = c.int_at(n + i, static_cast<int>(k));
    }
  }
  return y;
}

// Partitions the numbers 0, 1, … in the same way, to find where the rows of each output came from.
std::vector<Value> partition_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value partitions = g.x(1);
  const Value zero = constant(graph, std::int32_t{0}), one = constant(graph, std::int32_t{1});
  const Value shape = graph.add("Shape", {partitions});
  const Value numbers = graph.add("Reshape", {graph.add("Range", {zero, graph.add("Size", {partitions}), one}), shape});
  const Value places =
      graph.add("DynamicPartition", {numbers, partitions}, {{"num_partitions", g.attrs().get_int("num_partitions")}});
  std::vector<Value> inputs;
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(places.output(i));
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(g.dy(i));
  const Value rows = graph.add("ParallelDynamicStitch", inputs, {{"N", g.num_outputs()}});
  return {graph.add("Reshape", {rows, graph.add("Shape", {g.x(0)})}), Value()};
}

std::vector<Value> stitch_gradient(GradContext& g) {
  const int n = g.num_inputs() / 2;
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  for (int i = 0; i < n; ++i) dxs[n + i] = gather(g.dy(), g.x(i));
  return dxs;
}

}  // namespace

void define_partitions(OpRegistry& ops) {
  ops.add({.name = "DynamicPartition",
           .doc = "Rows of data into num_partitions outputs, as partitions says.",
           .inputs = {"data: T", "partitions: int32"},
           .outputs = {"outputs: num_partitions * T"},
           .attrs = {"num_partitions: int >= 1", "T: type"},
           .shape = partition_shape,
           .gradient = partition_gradient,
           .sharding = "whole: values say which rows each output gets"});
  for (const char* name : {"DynamicStitch", "ParallelDynamicStitch"}) {
    ops.add({.name = name,
             .doc = "Rows merged by index; of equal indices the last wins.",
             .inputs = {"indices: N * int32", "data: N * T"},
             .outputs = {"merged: T"},
             .attrs = {"N: int >= 1", "T: type"},
             .shape = stitch_shape,
             .gradient = stitch_gradient,
             .known_ints = stitch_ints});
  }
}

std::vector<Value> dynamic_partition(Value data, Value partitions, int num_partitions) {
  std::vector<Value> pieces(static_cast<std::size_t>(std::max(num_partitions, 0)));
  if (!data.valid()) return pieces;
  const Value first = data.graph().add("DynamicPartition", {data, partitions}, {{"num_partitions", num_partitions}});
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = first.output(static_cast<int>(i));
  return pieces;
}

Value dynamic_stitch(const std::vector<Value>& indices, const std::vector<Value>& data) {
  if (indices.empty() || !indices[0].valid()) return {};
  std::vector<Value> inputs = indices;
  inputs.insert(inputs.end(), data.begin(), data.end());
  return indices[0].graph().add("DynamicStitch", inputs, {{"N", indices.size()}});
}

}  // namespace argosy
