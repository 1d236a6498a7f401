// Definitions: sparse tensors as strings, variants, or kept under a number.
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/sparse/sparse_shapes.h"

namespace argosy::sparse {

namespace {

Status serialize_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  c.set_output(0, PartialShape{3});
  return ok_status();
}
Status serialize_many_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  c.set_output(0, PartialShape{kUnknownSize, 3});
  return ok_status();
}
Status add_to_map_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  return scalar_output(c);
}
Status add_many_to_map_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  c.set_output(0, PartialShape{kUnknownSize});
  return ok_status();
}

Status deserialize_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  const bool handles = c.op().name.starts_with("Take");
  if (handles) ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  if (c.op().name == "DeserializeManySparse") ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 2).status());
  if (!handles && (x.rank() == 0 || (x.has_rank() && x.sizes().back() >= 0 && x.sizes().back() != 3))) {
    return invalid_argument(c.op().name, ": serialized sparse tensors have 3 parts in the last axis, not shape ", x);
  }
  c.set_output(0, PartialShape{kUnknownSize, kUnknownSize});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{kUnknownSize});
  return ok_status();
}

}  // namespace

void define_serial(OpRegistry& ops) {
  ops.add({.name = "SerializeSparse",
           .doc = "A sparse tensor as three strings or variants.",
           .inputs = {"sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"},
           .outputs = {"serialized_sparse: out_type"},
           .attrs = {"T: type", "out_type: {string, variant} = string"},
           .shape = serialize_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SerializeManySparse",
           .doc = "The rows of a sparse tensor, each as three strings or variants.",
           .inputs = {"sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"},
           .outputs = {"serialized_sparse: out_type"},
           .attrs = {"T: type", "out_type: {string, variant} = string"},
           .shape = serialize_many_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "DeserializeSparse",
           .doc = "Sparse tensors out of three strings or variants each, joined.",
           .inputs = {"serialized_sparse: Tserialized"},
           .outputs = {"sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"},
           .attrs = {"dtype: type", "Tserialized: {string, variant} = string"},
           .shape = deserialize_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "DeserializeManySparse",
           .doc = "Sparse tensors out of three strings each, joined.",
           .inputs = {"serialized_sparse: string"},
           .outputs = {"sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"},
           .attrs = {"dtype: type"},
           .shape = deserialize_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "AddSparseToTensorsMap",
           .doc = "Keeps a sparse tensor; its number.",
           .inputs = {"sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"},
           .outputs = {"sparse_handle: int64"},
           .attrs = {"T: type", "container: string = ''", "shared_name: string = ''"},
           .shape = add_to_map_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .sharding = "once: the session keeps the tensors"});
  ops.add({.name = "AddManySparseToTensorsMap",
           .doc = "Keeps the rows of a sparse tensor; their numbers.",
           .inputs = {"sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"},
           .outputs = {"sparse_handles: int64"},
           .attrs = {"T: type", "container: string = ''", "shared_name: string = ''"},
           .shape = add_many_to_map_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .sharding = "once: the session keeps the tensors"});
  ops.add({.name = "TakeManySparseFromTensorsMap",
           .doc = "Takes kept sparse tensors by their numbers, joined.",
           .inputs = {"sparse_handles: int64"},
           .outputs = {"sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"},
           .attrs = {"dtype: type", "container: string = ''", "shared_name: string = ''"},
           .shape = deserialize_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .sharding = "once: the session keeps the tensors"});
}

}  // namespace argosy::sparse
