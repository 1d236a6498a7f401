// Definitions: crossed features.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

// N sparse tensors (indices, values, shapes), dense matrices behind them; then what else the op takes.
Status cross_shape(ShapeContext& c) {
  const int n = static_cast<int>(c.attrs().get_int("N"));
  const int dense = static_cast<int>(c.attrs().get<std::vector<DType>>("dense_types").size());
  if (static_cast<int>(c.attrs().get<std::vector<DType>>("sparse_types").size()) != n) {
    return invalid_argument(c.op().name, ": N is ", n, ", but there are ",
                            c.attrs().get<std::vector<DType>>("sparse_types").size(), " sparse_types");
  }
  for (int i = 0; i < n; ++i) {
    ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 2).status());
    ARGOSY_RETURN_IF_ERROR(c.with_rank(n + i, 1).status());
    ARGOSY_RETURN_IF_ERROR(c.with_rank(2 * n + i, 1).status());
  }
  for (int i = 0; i < dense; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(3 * n + i, 2).status());
  c.set_output(0, PartialShape{PartialShape::kUnknown, 2});
  c.set_output(1, PartialShape{PartialShape::kUnknown});
  c.set_output(2, PartialShape{2});
  return ok_status();
}

}  // namespace

void define_cross(OpRegistry& ops) {
  ops.add({.name = "SparseCross",
           .doc = "Every combination of the features of each row, joined by _X_ or hashed.",
           .inputs = {"indices: N * int64", "values: sparse_types", "shapes: N * int64", "dense_inputs: dense_types"},
           .outputs = {"output_indices: int64", "output_values: out_type", "output_shape: int64"},
           .attrs = {"N: int >= 0", "hashed_output: bool", "num_buckets: int >= 0", "hash_key: int",
                     "sparse_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0",
                     "out_type: {int64, string}", "internal_type: {int64, string}"},
           .shape = cross_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add(
      {.name = "SparseCrossV2",
       .doc = "Every combination of the features of each row, joined.",
       .inputs = {"indices: N * int64", "values: sparse_types", "shapes: N * int64", "dense_inputs: dense_types",
                  "sep: string"},
       .outputs = {"output_indices: int64", "output_values: string", "output_shape: int64"},
       .attrs = {"N: int >= 0", "sparse_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0"},
       .shape = cross_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add(
      {.name = "SparseCrossHashed",
       .doc = "Every combination of the features of each row, hashed.",
       .inputs = {"indices: N * int64", "values: sparse_types", "shapes: N * int64", "dense_inputs: dense_types",
                  "num_buckets: int64", "strong_hash: bool", "salt: int64"},
       .outputs = {"output_indices: int64", "output_values: int64", "output_shape: int64"},
       .attrs = {"N: int >= 0", "sparse_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0"},
       .shape = cross_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
}

}  // namespace argosy::sparse
