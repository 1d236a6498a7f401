// Definitions: which entries there are, and where.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/sparse/sparse_shapes.h"

namespace argosy::sparse {

Result<CooShape> coo_shape(const ShapeContext& c, int indices, int values, int shape) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape i, c.with_rank(indices, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape v, c.with_rank(values, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape s, c.with_rank(shape, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape count, PartialShape{i[0]}.merge(v));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape rank, PartialShape{i[1]}.merge(s));
  return CooShape{count[0], rank[0]};
}

namespace {

void set_coo(ShapeContext& c, int first, std::int64_t count, std::int64_t rank) {
  c.set_output(first, PartialShape{count, rank});
  c.set_output(first + 1, PartialShape{count});
  if (first + 2 < c.num_outputs()) c.set_output(first + 2, PartialShape{rank});
}

Status reorder_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, 0, 1, 2));
  c.set_output(0, PartialShape{x.count, x.rank});
  c.set_output(1, PartialShape{x.count});
  return ok_status();
}

Status reshape_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(0, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape to, c.with_rank(2, 1));
  c.set_output(0, PartialShape{indices[0], to[0]});
  c.set_output(1, to);
  return ok_status();
}

Status concat_shape(ShapeContext& c) {
  const int n = c.num_inputs() / 3;
  std::int64_t total = 0, rank = kUnknownSize;
  for (int i = 0; i < n; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, i, n + i, 2 * n + i));
    total = total < 0 || x.count < 0 ? kUnknownSize : total + x.count;
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape same, PartialShape{rank}.merge({x.rank}));
    rank = same[0];
  }
  set_coo(c, 0, total, rank);
  return ok_status();
}

Status split_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, 1, 2, 3));
  const int n = c.num_outputs() / 3;
  for (int i = 0; i < n; ++i) {
    c.set_output(i, PartialShape{kUnknownSize, x.rank});
    c.set_output(n + i, PartialShape{kUnknownSize});
    c.set_output(2 * n + i, PartialShape{x.rank});
  }
  return ok_status();
}

Status slice_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, 0, 1, 2));
  for (int i = 3; i < 5; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape window, c.with_rank(i, 1));
    ARGOSY_RETURN_IF_ERROR(PartialShape{x.rank}.merge(window).status());
  }
  set_coo(c, 0, kUnknownSize, x.rank);
  return ok_status();
}

Status slice_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 2).status());
  c.set_output(0, PartialShape{indices[0]});
  return ok_status();
}

Status fill_rows_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, 0, 1, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  c.set_output(0, PartialShape{kUnknownSize, x.rank});
  c.set_output(1, PartialShape{kUnknownSize});
  const PartialShape dense = c.input_as_shape(2);
  c.set_output(2, PartialShape{dense.rank() > 0 ? dense[0] : kUnknownSize});
  c.set_output(3, PartialShape{x.count});
  return ok_status();
}

Status fill_rows_grad_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape map, c.with_rank(0, 1));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  c.set_output(0, map);
  c.set_output(1, PartialShape::scalar());
  return ok_status();
}

// --- gradients -------------------------------------------------------------------------------------------------------

// Sends numbers along, which then say where each entry went.
std::vector<Value> reorder_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value count = size(g.x(1));
  const Value numbers = range(constant(graph, 0), count, constant(graph, 1));
  const Value sent = graph.add("SparseReorder", {g.x(0), numbers, g.x(2)});
  return {Value(), gather(g.dy(1), invert_permutation(sent.output(1))), Value()};
}

std::vector<Value> slice_gradient(GradContext& g) {
  std::vector<Value> dx(5);
  dx[1] = g.graph().add("SparseSliceGrad", {g.dy(1), g.x(0), g.x(3), g.y(0)});
  return dx;
}

std::vector<Value> fill_rows_gradient(GradContext& g) {
  const Value d = g.graph().add("SparseFillEmptyRowsGrad", {g.y(3), g.dy(1)});
  return {Value(), d, Value(), d.output(1)};
}

}  // namespace

void define_form(OpRegistry& ops) {
  ops.add({.name = "SparseReorder",
           .doc = "The entries in order of their indices.",
           .inputs = {"input_indices: int64", "input_values: T", "input_shape: int64"},
           .outputs = {"output_indices: int64", "output_values: T"},
           .attrs = {"T: type"},
           .shape = reorder_shape,
           .gradient = reorder_gradient});
  ops.add({.name = "SparseReshape",
           .doc = "The indices in another shape.",
           .inputs = {"input_indices: int64", "input_shape: int64", "new_shape: int64"},
           .outputs = {"output_indices: int64", "output_shape: int64"},
           .shape = reshape_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseConcat",
           .doc = "Sparse tensors one behind the other.",
           .inputs = {"indices: N * int64", "values: N * T", "shapes: N * int64"},
           .outputs = {"output_indices: int64", "output_values: T", "output_shape: int64"},
           .attrs = {"concat_dim: int", "N: int >= 2", "T: type"},
           .shape = concat_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true});
  ops.add({.name = "SparseSplit",
           .doc = "A sparse tensor in parts along an axis.",
           .inputs = {"split_dim: int64", "indices: int64", "values: T", "shape: int64"},
           .outputs = {"output_indices: num_split * int64", "output_values: num_split * T",
                       "output_shape: num_split * int64"},
           .attrs = {"num_split: int >= 1", "T: type"},
           .shape = split_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseSlice",
           .doc = "The entries within a window.",
           .inputs = {"indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"},
           .outputs = {"output_indices: int64", "output_values: T", "output_shape: int64"},
           .attrs = {"T: type"},
           .shape = slice_shape,
           .gradient = slice_gradient});
  ops.add({.name = "SparseSliceGrad",
           .doc = "What flows back through SparseSlice.",
           .inputs = {"backprop_val_grad: T", "input_indices: int64", "input_start: int64", "output_indices: int64"},
           .outputs = {"val_grad: T"},
           .attrs = {"T: number"},
           .shape = slice_grad_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseFillEmptyRows",
           .doc = "A default where a row has no entry.",
           .inputs = {"indices: int64", "values: T", "dense_shape: int64", "default_value: T"},
           .outputs = {"output_indices: int64", "output_values: T", "empty_row_indicator: bool",
                       "reverse_index_map: int64"},
           .attrs = {"T: type"},
           .shape = fill_rows_shape,
           .gradient = fill_rows_gradient});
  ops.add({.name = "SparseFillEmptyRowsGrad",
           .doc = "What flows back through SparseFillEmptyRows.",
           .inputs = {"reverse_index_map: int64", "grad_values: T"},
           .outputs = {"d_values: T", "d_default_value: T"},
           .attrs = {"T: type"},
           .shape = fill_rows_grad_shape,
           .gradient = kNotDifferentiable});
}

}  // namespace argosy::sparse
