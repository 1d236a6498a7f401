#include "argosy/ops/ragged/ragged_rows.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

Status fill_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape ids, c.with_rank(0, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape values, c.with_rank(1, 1));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape both, ids.merge(values));
  const auto rows = c.input_as_int(2);
  c.set_output(0, PartialShape{kUnknownSize});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{rows && *rows >= 0 ? *rows : kUnknownSize});
  c.set_output(3, both);
  return ok_status();
}

Status fill_gradient_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape map, c.with_rank(0, 1));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  c.set_output(0, map);
  c.set_output(1, PartialShape::scalar());
  return ok_status();
}

std::vector<Value> fill_gradient(GradContext& g) {
  const Value d = g.graph().add("RaggedFillEmptyRowsGrad", {g.y(3), g.dy(1)});
  return {Value(), d, Value(), d.output(1)};
}

Status cross_shape(ShapeContext& c) {
  std::size_t counts[3] = {c.attrs().get<std::vector<DType>>("ragged_values_types").size(),
                           static_cast<std::size_t>(c.attrs().get_int("Nsparse")),
                           c.attrs().get<std::vector<DType>>("dense_types").size()};
  if (c.attrs().get<std::vector<DType>>("ragged_splits_types").size() != counts[0])
    return invalid_argument("ragged values and splits must have the same length");
  if (c.attrs().get<std::vector<DType>>("sparse_values_types").size() != counts[1])
    return invalid_argument("sparse values and indices must have the same length");
  const std::string& order = c.attrs().get_string("input_order");
  for (const char kind : order) {
    const std::size_t at = std::string_view("RSD").find(kind);
    if (at == std::string_view::npos || counts[at]-- == 0)
      return invalid_argument("RaggedCross: input_order \"", order, "\" does not name each input once, as R, S or D");
  }
  if (counts[0] + counts[1] + counts[2] > 0)
    return invalid_argument("RaggedCross: input_order \"", order, "\" names fewer inputs than there are");
  c.set_output(0, PartialShape{kUnknownSize});
  c.set_output(1, PartialShape{kUnknownSize});
  return ok_status();
}

}  // namespace

void define_ragged_rows(OpRegistry& ops) {
  ops.add({.name = "RaggedFillEmptyRows",
           .doc = "A ragged matrix with a default value in each row that was empty.",
           .inputs = {"value_rowids: int64", "values: T", "nrows: int64", "default_value: T"},
           .outputs = {"output_value_rowids: int64", "output_values: T", "empty_row_indicator: bool",
                       "reverse_index_map: int64"},
           .attrs = {"T: type"},
           .shape = fill_shape,
           .gradient = fill_gradient});
  ops.add({.name = "RaggedFillEmptyRowsGrad",
           .doc = "What flows back through RaggedFillEmptyRows.",
           .inputs = {"reverse_index_map: int64", "grad_values: T"},
           .outputs = {"d_values: T", "d_default_value: T"},
           .attrs = {"T: type"},
           .shape = fill_gradient_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "RaggedCross",
           .doc = "Every combination of the features of each row, joined by _X_ or hashed.",
           .inputs = {"ragged_values: ragged_values_types", "ragged_row_splits: ragged_splits_types",
                      "sparse_indices: Nsparse * int64", "sparse_values: sparse_values_types",
                      "sparse_shape: Nsparse * int64", "dense_inputs: dense_types"},
           .outputs = {"output_values: out_values_type", "output_row_splits: out_row_splits_type"},
           .attrs = {"Nsparse: int >= 0", "input_order: string", "hashed_output: bool", "num_buckets: int >= 0",
                     "hash_key: int", "ragged_values_types: list({int64, string}) >= 0",
                     "ragged_splits_types: list({int32, int64}) >= 0",
                     "sparse_values_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0",
                     "out_values_type: {int64, string}", "out_row_splits_type: {int32, int64}"},
           .shape = cross_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
}

}  // namespace argosy
