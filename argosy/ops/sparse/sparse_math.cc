// Definitions: products, sums, reductions.
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/broadcast/broadcast.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/sparse/sparse_shapes.h"

namespace argosy::sparse {

namespace {

Status matmul_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape a, coo_shape(c, 0, 1, 2));
  if (a.rank >= 0 && a.rank != 2)
    return invalid_argument("SparseTensorDenseMatMul: a must be a matrix, not of rank ", a.rank);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(3, 2));
  const PartialShape given = c.input_as_shape(2);
  const bool turned = c.attrs().get_bool("adjoint_b");
  const bool a_turned = c.attrs().get_bool("adjoint_a");
  const std::int64_t rows = given.rank() == 2 ? given[a_turned ? 1 : 0] : kUnknownSize;
  const std::int64_t inner = given.rank() == 2 ? given[a_turned ? 0 : 1] : kUnknownSize;
  ARGOSY_RETURN_IF_ERROR(PartialShape{inner}.merge({b[turned ? 1 : 0]}).status());
  c.set_output(0, PartialShape{rows, b[turned ? 0 : 1]});
  return ok_status();
}

Status dense_add_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, c.input_as_shape(2).merge(c.input(3)));
  c.set_output(0, std::move(shape));
  return ok_status();
}

Status two(ShapeContext& c, std::int64_t& rank) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape a, coo_shape(c, 0, 1, 2));
  ARGOSY_ASSIGN_OR_RETURN(const CooShape b, coo_shape(c, 3, 4, 5));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape same, PartialShape{a.rank}.merge({b.rank}));
  rank = same[0];
  return ok_status();
}

Status add_shape(ShapeContext& c) {
  std::int64_t rank = kUnknownSize;
  ARGOSY_RETURN_IF_ERROR(two(c, rank));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(6, 0).status());
  c.set_output(0, PartialShape{kUnknownSize, rank});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{rank});
  return ok_status();
}

Status pair_shape(ShapeContext& c) {
  std::int64_t rank = kUnknownSize;
  ARGOSY_RETURN_IF_ERROR(two(c, rank));
  c.set_output(0, PartialShape{kUnknownSize, rank});
  c.set_output(1, PartialShape{kUnknownSize});
  return ok_status();
}

Status add_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape a, c.with_rank(1, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(2, 2));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 2).status());
  c.set_output(0, PartialShape{a[0]});
  c.set_output(1, PartialShape{b[0]});
  return ok_status();
}

Status cwise_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const CooShape x, coo_shape(c, 0, 1, 2));
  c.set_output(0, PartialShape{x.count});
  return ok_status();
}
Status softmax_shape(ShapeContext& c) { return cwise_shape(c); }

Status reduce_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  const PartialShape x = c.input_as_shape(2);
  if (c.attrs().get_bool("keep_dims") && x.has_rank()) c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
  return ok_status();
}

Status reduce_sparse_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(coo_shape(c, 0, 1, 2).status());
  c.set_output(0, PartialShape{kUnknownSize, kUnknownSize});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{kUnknownSize});
  return ok_status();
}

Status dense_matmul_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape a, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(1, 2));
  const bool ta = c.attrs().get_bool("transpose_a"), tb = c.attrs().get_bool("transpose_b");
  ARGOSY_RETURN_IF_ERROR(PartialShape{a[ta ? 0 : 1]}.merge({b[tb ? 1 : 0]}).status());
  c.set_output(0, PartialShape{a[ta ? 1 : 0], b[tb ? 0 : 1]});
  return ok_status();
}

// --- gradients -------------------------------------------------------------------------------------------------------

Value column(Value indices, std::int64_t k) { return squeeze(slice(indices, {0, k}, {-1, 1}), {1}); }
Value adjoint(Value x) { return is_complex(x.dtype()) ? conj(transpose(x)) : transpose(x); }

// Of a value at (i, j): row i of dy times row j of b.
std::vector<Value> matmul_gradient(GradContext& g) {
  const bool a_turned = g.attrs().get_bool("adjoint_a"), b_turned = g.attrs().get_bool("adjoint_b");
  Value db = g.graph().add("SparseTensorDenseMatMul", {g.x(0), g.x(1), g.x(2), g.dy()}, {{"adjoint_a", !a_turned}});
  if (b_turned) db = adjoint(db);
  const Value i = column(g.x(0), a_turned ? 1 : 0), j = column(g.x(0), a_turned ? 0 : 1);
  const Value b = b_turned ? adjoint(g.x(3)) : g.x(3);
  const Value rows = gather(b, j);
  const Value dv = reduce_sum(gather(g.dy(), i) * (is_complex(rows.dtype()) ? conj(rows) : rows), Axes{1});
  return {Value(), a_turned && is_complex(dv.dtype()) ? conj(dv) : dv, Value(), db};
}

std::vector<Value> dense_add_gradient(GradContext& g) { return {Value(), gather_nd(g.dy(), g.x(0)), Value(), g.dy()}; }

std::vector<Value> add_gradient(GradContext& g) {
  const Value d = g.graph().add("SparseAddGrad", {g.dy(1), g.x(0), g.x(3), g.y(0)});
  std::vector<Value> dx(7);
  dx[1] = d;
  dx[4] = d.output(1);
  return dx;
}

// Entries of the dense tensor that the sparse ones met: indices into it, several of which may be the same.
template <bool product>
std::vector<Value> cwise_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value indices = g.x(0), dense = g.x(3);
  const Value dense_shape = shape(dense, DType::kInt64);
  const Value added = size(g.x(2)) - size(dense_shape);
  const Value ones = graph.add("Fill", {expand_dims(added, 0), constant(graph, std::int64_t{1})});
  const Value scale = floor_div(g.x(2), concat({ones, dense_shape}, 0));
  const Value scaled = floor_div(indices, scale);
  const Value begin = stack({constant(graph, 0), added}), all = constant(graph, Tensor::vector<std::int32_t>({-1, -1}));
  const Value met = slice(scaled, begin, all);
  const Value there = gather_nd(dense, met);
  const Value dx = product ? g.dy() * there : g.dy() / there;
  const Value dv = product ? g.dy() * g.x(1) : -(g.dy() * g.x(1) / square(there));
  return {Value(), dx, Value(), scatter_nd(met, dv, dense_shape)};
}

// Every entry has the gradient of the sum it went into.
std::vector<Value> reduce_sum_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value x_shape = g.x(2), axes = g.x(3);
  const Value rank = size(x_shape);
  const Value places = expand_dims(floor_mod(reshape(axes, {-1}), rank), 1);
  const Value ones = graph.add("Fill", {shape(reshape(axes, {-1})), constant(graph, std::int64_t{1})});
  const Value kept = tensor_scatter_update(x_shape, places, ones);
  const Value dense = broadcast_to(reshape(g.dy(), kept), x_shape);
  return {Value(), gather_nd(dense, g.x(0)), Value(), Value()};
}

// y = softmax(x) within a row: dx = (dy - sum(dy y)) y.
std::vector<Value> softmax_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value last = constant(graph, Tensor::vector<std::int32_t>({-1}));
  const Value sums = graph.add("SparseReduceSum", {g.x(0), g.dy() * g.y(), g.x(2), last}, {{"keep_dims", true}});
  const Value centred = graph.add("SparseDenseCwiseAdd", {g.x(0), g.dy(), g.x(2), -sums});
  return {Value(), centred * g.y(), Value()};
}

std::vector<Value> dense_matmul_gradient(GradContext& g) {
  const bool ta = g.attrs().get_bool("transpose_a"), tb = g.attrs().get_bool("transpose_b");
  const Value a = cast(g.x(0), DType::kFloat32), b = cast(g.x(1), DType::kFloat32), d = g.dy();
  const auto product = [](Value p, Value q, bool tp, bool tq) {
    return matmul(p, q, {.transpose_a = tp, .transpose_b = tq});
  };
  const Value da = ta ? product(b, d, tb, true) : product(d, b, false, !tb);
  const Value db = tb ? product(d, a, true, ta) : product(a, d, !ta, false);
  return {cast(da, g.x(0).dtype()), cast(db, g.x(1).dtype())};
}

}  // namespace

void define_math(OpRegistry& ops) {
  ops.add({.name = "SparseTensorDenseMatMul",
           .doc = "A sparse matrix times a dense one.",
           .inputs = {"a_indices: Tindices", "a_values: T", "a_shape: int64", "b: T"},
           .outputs = {"product: T"},
           .attrs = {"T: type", "Tindices: index = int64", "adjoint_a: bool = false", "adjoint_b: bool = false"},
           .shape = matmul_shape,
           .gradient = matmul_gradient,
           .sharding = "e 1, e, ., k j -> i j; sum e; whole k i; linear 1 | 3; flip adjoint_b 3",
           .host_inputs = {2}});
  ops.add({.name = "SparseTensorDenseAdd",
           .doc = "A dense tensor with the entries of a sparse one added.",
           .inputs = {"a_indices: Tindices", "a_values: T", "a_shape: Tindices", "b: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number", "Tindices: index"},
           .shape = dense_add_shape,
           .gradient = dense_add_gradient,
           .cpu_only = true});
  ops.add({.name = "SparseAdd",
           .doc = "The sum of two sparse tensors, but for entries below a threshold.",
           .inputs = {"a_indices: int64", "a_values: T", "a_shape: int64", "b_indices: int64", "b_values: T",
                      "b_shape: int64", "thresh: Treal"},
           .outputs = {"sum_indices: int64", "sum_values: T", "sum_shape: int64"},
           .attrs = {"T: number", "Treal: real"},
           .shape = add_shape,
           .gradient = add_gradient,
           .cpu_only = true});
  ops.add({.name = "SparseAddGrad",
           .doc = "What flows back through SparseAdd.",
           .inputs = {"backprop_val_grad: T", "a_indices: int64", "b_indices: int64", "sum_indices: int64"},
           .outputs = {"a_val_grad: T", "b_val_grad: T"},
           .attrs = {"T: number"},
           .shape = add_grad_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
  ops.add({.name = "SparseSparseMaximum",
           .doc = "The larger of two sparse tensors, element by element.",
           .inputs = {"a_indices: int64", "a_values: T", "a_shape: int64", "b_indices: int64", "b_values: T",
                      "b_shape: int64"},
           .outputs = {"output_indices: int64", "output_values: T"},
           .attrs = {"T: real"},
           .shape = pair_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseSparseMinimum",
           .doc = "The smaller of two sparse tensors, element by element.",
           .inputs = {"a_indices: int64", "a_values: T", "a_shape: int64", "b_indices: int64", "b_values: T",
                      "b_shape: int64"},
           .outputs = {"output_indices: int64", "output_values: T"},
           .attrs = {"T: number"},
           .shape = pair_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseDenseCwiseAdd",
           .doc = "The entries plus those of a dense tensor, which is broadcast.",
           .inputs = {"sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number"},
           .shape = cwise_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseDenseCwiseMul",
           .doc = "The entries times those of a dense tensor, which is broadcast.",
           .inputs = {"sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number"},
           .shape = cwise_shape,
           .gradient = cwise_gradient<true>,
           .cpu_only = true});
  ops.add({.name = "SparseDenseCwiseDiv",
           .doc = "The entries divided by those of a dense tensor, which is broadcast.",
           .inputs = {"sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"},
           .outputs = {"output: T"},
           .attrs = {"T: number"},
           .shape = cwise_shape,
           .gradient = cwise_gradient<false>,
           .cpu_only = true});
  ops.add({.name = "SparseReduceSum",
           .doc = "Sums of the entries along axes.",
           .inputs = {"input_indices: int64", "input_values: T", "input_shape: int64", "reduction_axes: int32"},
           .outputs = {"output: T"},
           .attrs = {"keep_dims: bool = false", "T: number"},
           .shape = reduce_shape,
           .gradient = reduce_sum_gradient,
           .cpu_only = true});
  ops.add({.name = "SparseReduceMax",
           .doc = "The largest of the entries along axes.",
           .inputs = {"input_indices: int64", "input_values: T", "input_shape: int64", "reduction_axes: int32"},
           .outputs = {"output: T"},
           .attrs = {"keep_dims: bool = false", "T: real"},
           .shape = reduce_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseReduceSumSparse",
           .doc = "Sums of the entries along axes, where there are any.",
           .inputs = {"input_indices: int64", "input_values: T", "input_shape: int64", "reduction_axes: int32"},
           .outputs = {"output_indices: int64", "output_values: T", "output_shape: int64"},
           .attrs = {"keep_dims: bool = false", "T: number"},
           .shape = reduce_sparse_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseReduceMaxSparse",
           .doc = "The largest of the entries along axes, where there are any.",
           .inputs = {"input_indices: int64", "input_values: T", "input_shape: int64", "reduction_axes: int32"},
           .outputs = {"output_indices: int64", "output_values: T", "output_shape: int64"},
           .attrs = {"keep_dims: bool = false", "T: real"},
           .shape = reduce_sparse_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "SparseSoftmax",
           .doc = "Softmax over the entries of each row of the last axis.",
           .inputs = {"sp_indices: int64", "sp_values: T", "sp_shape: int64"},
           .outputs = {"output: T"},
           .attrs = {"T: {half, float, double}"},
           .shape = softmax_shape,
           .gradient = softmax_gradient,
           .cpu_only = true});
  ops.add({.name = "SparseMatMul",
           .doc = "A product of dense matrices, one of which holds many zeros.",
           .inputs = {"a: Ta", "b: Tb"},
           .outputs = {"product: float"},
           .attrs = {"transpose_a: bool = false", "transpose_b: bool = false", "a_is_sparse: bool = false",
                     "b_is_sparse: bool = false", "Ta: {float, bfloat16} = float", "Tb: {float, bfloat16} = float"},
           .shape = dense_matmul_shape,
           .gradient = dense_matmul_gradient,
           .cpu_only = true,
           .sharding = "i k, k j -> i j; sum k; linear 0 | 1; flip transpose_a 0; flip transpose_b 1"});
}

}  // namespace argosy::sparse
