#include "argosy/ops/csr/csr.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/csr/csr_gradients.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Output i is a matrix of this shape; INVALID_ARGUMENT unless its rank is 2 or 3.
Status matrix(ShapeContext& c, int i, DType dtype, const PartialShape& shape) {
  c.set_output(i, PartialShape::scalar());
  if (shape.has_rank() && shape.rank() != 2 && shape.rank() != 3)
    return invalid_argument(c.op().name, ": a CSR matrix has rank 2 or 3, not the shape ", shape);
  c.set_handle(i, {dtype, shape});
  return ok_status();
}
// What is known of the matrix of input i.
PartialShape matrix_shape(const ShapeContext& c, int i) {
  return c.handle(i) != nullptr ? c.handle(i)->shape : PartialShape();
}
Status scalar_variants(const ShapeContext& c, int count) {
  for (int i = 0; i < count; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return ok_status();
}

Status from_sparse_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 2).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  return matrix(c, 0, c.input_dtype(1), c.input_as_shape(2));
}
Status from_dense_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 2).status());
  if (c.input(0).has_rank() && c.input(0).rank() != 2 && c.input(0).rank() != 3)
    return invalid_argument("params must have rank == 2 or 3; but saw shape: ", c.input(0));
  return matrix(c, 0, c.input_dtype(0), c.input(0));
}
Status zeros_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  return matrix(c, 0, c.attrs().get_type("type"), c.input_as_shape(0));
}
Status to_dense_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  c.set_output(0, matrix_shape(c, 0));
  return ok_status();
}
Status to_sparse_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  const PartialShape m = matrix_shape(c, 0);
  const std::int64_t rank = m.has_rank() ? m.rank() : kUnknownSize;
  c.set_output(0, PartialShape{kUnknownSize, rank});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{rank});
  return ok_status();
}
Status components_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 2));
  const PartialShape m = matrix_shape(c, 0);
  const std::int64_t rows = m.rank() >= 2 ? m[m.rank() - 2] : kUnknownSize;
  c.set_output(0, PartialShape{rows >= 0 ? rows + 1 : kUnknownSize});
  c.set_output(1, PartialShape{kUnknownSize});
  c.set_output(2, PartialShape{kUnknownSize});
  return ok_status();
}
Status count_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  const PartialShape m = matrix_shape(c, 0);
  if (m.rank() == 2) c.set_output(0, PartialShape::scalar());
  if (m.rank() == 3) c.set_output(0, PartialShape{m[0]});
  return ok_status();
}

bool turned(const ShapeContext& c, const char* side) {
  return c.attrs().get_bool(str_cat("transpose_", side)) || c.attrs().get_bool(str_cat("adjoint_", side));
}
Status matmul_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  const PartialShape a = matrix_shape(c, 0), &b = c.input(1);
  if (b.has_rank() && b.rank() != 2 && b.rank() != 3)
    return invalid_argument("Ranks of a and b must match: b must have rank 2 or 3, not the shape ", b);
  if (!b.has_rank() && !a.has_rank()) return ok_status();
  const int rank = b.has_rank() ? b.rank() : a.rank();
  if (a.has_rank() && a.rank() != rank)
    return invalid_argument("Ranks of a and b must match, saw: ", a.rank(), " vs. ", rank, ".");
  const auto size = [&](const PartialShape& s, int from_end) {
    return s.has_rank() ? s[rank - from_end] : kUnknownSize;
  };
  std::int64_t rows = size(a, turned(c, "a") ? 1 : 2), columns = size(b, turned(c, "b") ? 2 : 1);
  if (c.attrs().get_bool("transpose_output")) std::swap(rows, columns);
  const std::int64_t batch = rank == 2 ? 0 : size(a, 3) >= 0 ? size(a, 3) : size(b, 3);
  c.set_output(0, rank == 2 ? PartialShape{rows, columns} : PartialShape{batch, rows, columns});
  return ok_status();
}
Status like_first(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  c.set_output(0, PartialShape::scalar());
  if (c.handle(0) != nullptr) c.set_handle(0, *c.handle(0));
  return ok_status();
}
Status like_second(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 2));
  c.set_output(0, PartialShape::scalar());
  if (c.handle(1) != nullptr) c.set_handle(0, *c.handle(1));
  return ok_status();
}
Status add_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 4));
  return like_first(c);
}
Status pair_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 2));
  return like_first(c);
}
Status transpose_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  PartialShape m = matrix_shape(c, 0);
  if (m.rank() == 2) m = PartialShape{m[1], m[0]};
  if (m.rank() == 3) m = PartialShape{m[0], m[2], m[1]};
  return matrix(c, 0, c.attrs().get_type("type"), m);
}
Status sparse_matmul_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 2));
  const PartialShape a = matrix_shape(c, 0), b = matrix_shape(c, 1);
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
    c.set_output(0, PartialShape::scalar());
    return ok_status();
  }
  const int rank = a.rank();
  const std::int64_t rows = a[rank - (turned(c, "a") ? 1 : 2)], columns = b[rank - (turned(c, "b") ? 2 : 1)];
  return matrix(c, 0, c.attrs().get_type("type"),
                rank == 2 ? PartialShape{rows, columns} : PartialShape{a[0], rows, columns});
}
Status at_indices_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape indices, c.with_rank(1, 2));
  c.set_output(0, PartialShape{indices[0]});
  return ok_status();
}

// The rows of the square matrix of input 0, batch by batch.
Result<PartialShape> rows_of_square(const ShapeContext& c) {
  const PartialShape m = matrix_shape(c, 0);
  if (!m.has_rank()) return PartialShape::unknown();
  const int rank = m.rank();
  const std::int64_t rows = m[rank - 2], columns = m[rank - 1];
  if (rows >= 0 && columns >= 0 && rows != columns)
    return invalid_argument("sparse matrix must be square; got: ", rows, " != ", columns);
  const std::int64_t size = rows >= 0 ? rows : columns;
  return rank == 2 ? PartialShape{size} : PartialShape{m[0], size};
}
Status ordering_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_variants(c, 1));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape rows, rows_of_square(c));
  c.set_output(0, std::move(rows));
  return ok_status();
}
Status cholesky_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape rows, rows_of_square(c));
  if (!c.input(1).compatible(rows)) {
    return invalid_argument(c.op().name, ": a permutation of shape ", c.input(1), " does not order the rows ", rows);
  }
  return like_first(c);
}

const std::string kValues = "{float, double, complex64, complex128}";
const std::vector<std::string> kFlags = {"transpose_a: bool = false", "transpose_b: bool = false",
                                         "adjoint_a: bool = false", "adjoint_b: bool = false"};

void define_forms(OpRegistry& ops) {
  ops.add({.name = "SparseTensorToCSRSparseMatrix",
           .doc = "A sparse tensor of rank 2 or 3 row by row, as one variant.",
           .inputs = {"indices: int64", "values: T", "dense_shape: int64"},
           .outputs = {"sparse_matrix: variant"},
           .attrs = {"T: " + kValues},
           .shape = from_sparse_shape,
           .gradient = csr::from_sparse_gradient});
  ops.add({.name = "DenseToCSRSparseMatrix",
           .doc = "Some elements of a dense tensor of rank 2 or 3 row by row, as one variant.",
           .inputs = {"dense_input: T", "indices: int64"},
           .outputs = {"sparse_output: variant"},
           .attrs = {"T: " + kValues},
           .shape = from_dense_shape,
           .gradient = csr::from_dense_gradient});
  ops.add({.name = "CSRSparseMatrixToDense",
           .doc = "The dense tensor; zeros where the matrix has nothing.",
           .inputs = {"sparse_input: variant"},
           .outputs = {"dense_output: type"},
           .attrs = {"type: " + kValues},
           .shape = to_dense_shape,
           .gradient = csr::to_dense_gradient});
  ops.add({.name = "CSRSparseMatrixToSparseTensor",
           .doc = "The sparse tensor.",
           .inputs = {"sparse_matrix: variant"},
           .outputs = {"indices: int64", "values: type", "dense_shape: int64"},
           .attrs = {"type: " + kValues},
           .shape = to_sparse_shape,
           .gradient = csr::to_sparse_gradient});
  ops.add({.name = "CSRSparseMatrixComponents",
           .doc = "Where the rows of one matrix of a batch begin, its columns and its values.",
           .inputs = {"csr_sparse_matrix: variant", "index: int32"},
           .outputs = {"row_ptrs: int32", "col_inds: int32", "values: type"},
           .attrs = {"type: " + kValues},
           .shape = components_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseMatrixNNZ",
           .doc = "How many values the matrix, or each of a batch, holds.",
           .inputs = {"sparse_matrix: variant"},
           .outputs = {"nnz: int32"},
           .shape = count_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true});
  ops.add({.name = "SparseMatrixZeros",
           .doc = "A matrix that holds nothing.",
           .inputs = {"dense_shape: int64"},
           .outputs = {"sparse_matrix: variant"},
           .attrs = {"type: " + kValues},
           .shape = zeros_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true});
}

void define_products(OpRegistry& ops) {
  std::vector<std::string> dense = {"T: type"};
  dense.insert(dense.end(), kFlags.begin(), kFlags.end());
  dense.insert(dense.end(), {"transpose_output: bool = false", "conjugate_output: bool = false"});
  std::vector<std::string> sparse = {"type: " + kValues};
  sparse.insert(sparse.end(), kFlags.begin(), kFlags.end());
  ops.add({.name = "SparseMatrixMatMul",
           .doc = "A CSR matrix times a dense one, batch by batch.",
           .inputs = {"a: variant", "b: T"},
           .outputs = {"output: T"},
           .attrs = dense,
           .shape = matmul_shape,
           .gradient = csr::matmul_gradient});
  ops.add({.name = "_SparseMatrixMatMulGrad",
           .doc = "What flows into the CSR matrix of a SparseMatrixMatMul, at the matrix's own places.",
           .inputs = {"a: variant", "b: T", "grad: T"},
           .outputs = {"output: variant"},
           .attrs = dense,
           .shape = like_first,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseMatrixSparseMatMul",
           .doc = "The product of two CSR matrices, batch by batch.",
           .inputs = {"a: variant", "b: variant"},
           .outputs = {"c: variant"},
           .attrs = sparse,
           .shape = sparse_matmul_shape,
           .gradient = csr::sparse_matmul_gradient});
}

void define_arithmetic(OpRegistry& ops) {
  ops.add({.name = "SparseMatrixTranspose",
           .doc = "The transposed matrix, or each of a batch; conjugated if asked for.",
           .inputs = {"input: variant"},
           .outputs = {"output: variant"},
           .attrs = {"conjugate: bool = false", "type: " + kValues},
           .shape = transpose_shape,
           .gradient = csr::transpose_gradient});
  ops.add({.name = "SparseMatrixAdd",
           .doc = "alpha * a + beta * b.",
           .inputs = {"a: variant", "b: variant", "alpha: T", "beta: T"},
           .outputs = {"c: variant"},
           .attrs = {"T: " + kValues},
           .shape = add_shape,
           .gradient = csr::add_gradient});
  ops.add({.name = "SparseMatrixMul",
           .doc = "The matrix times a number, or one number for each of a batch.",
           .inputs = {"a: variant", "b: T"},
           .outputs = {"output: variant"},
           .attrs = {"T: type"},
           .shape = like_first,
           .gradient = kNotDifferentiable});
  ops.add({.name = "SparseMatrixSoftmax",
           .doc = "Softmax over the values that each row holds.",
           .inputs = {"logits: variant"},
           .outputs = {"softmax: variant"},
           .attrs = {"type: {float, double}"},
           .shape = like_first,
           .gradient = csr::softmax_gradient});
  ops.add({.name = "SparseMatrixSoftmaxGrad",
           .doc = "The gradient of SparseMatrixSoftmax.",
           .inputs = {"softmax: variant", "grad_softmax: variant"},
           .outputs = {"gradient: variant"},
           .attrs = {"type: {float, double}"},
           .shape = pair_shape,
           .gradient = kNotDifferentiable});
  ops.add({.name = "_SparseMatrixAtPlaces",
           .doc = "What a matrix holds at the places of another; zeros where it has none.",
           .inputs = {"matrix: variant", "places: variant"},
           .outputs = {"output: variant"},
           .shape = like_second,
           .gradient = kNotDifferentiable});
  ops.add({.name = "_SparseMatrixAtIndices",
           .doc = "What a matrix holds at these indices; zeros where it has none.",
           .inputs = {"matrix: variant", "indices: int64"},
           .outputs = {"values: type"},
           .attrs = {"type: " + kValues},
           .shape = at_indices_shape,
           .gradient = kNotDifferentiable});
}

void define_factors(OpRegistry& ops) {
  ops.add({.name = "SparseMatrixOrderingAMD",
           .doc = "An order of the rows of a Hermitian matrix in which its Cholesky factor has few values.",
           .inputs = {"input: variant"},
           .outputs = {"output: int32"},
           .shape = ordering_shape,
           .gradient = kNotDifferentiable,
           .blocks_gradient = true});
  ops.add({.name = "SparseMatrixSparseCholesky",
           .doc = "The lower Cholesky factor of a Hermitian matrix whose rows and columns were put in this order.",
           .inputs = {"input: variant", "permutation: int32"},
           .outputs = {"output: variant"},
           .attrs = {"type: " + kValues},
           .shape = cholesky_shape,
           .gradient = kNotDifferentiable});
}

}  // namespace

static void add_csr_ops(OpRegistry& ops) {
  define_forms(ops);
  define_factors(ops);
  define_products(ops);
  define_arithmetic(ops);
}

void define_csr(OpRegistry& ops) { with_sharding(ops, add_csr_ops, {}, "whole: a sparse matrix is one value"); }

Value csr_from_sparse(Value indices, Value values, Value dense_shape) {
  if (!values.valid()) return values;
  return values.graph().add("SparseTensorToCSRSparseMatrix", {indices, values, dense_shape});
}
Value csr_from_dense(Value dense, Value indices) {
  if (!dense.valid()) return dense;
  return dense.graph().add("DenseToCSRSparseMatrix", {dense, indices});
}
Value csr_to_dense(Value matrix, DType dtype) {
  if (!matrix.valid()) return matrix;
  return matrix.graph().add("CSRSparseMatrixToDense", {matrix}, {{"type", dtype}});
}
Value csr_matmul(Value matrix, Value dense) {
  if (!matrix.valid()) return matrix;
  return matrix.graph().add("SparseMatrixMatMul", {matrix, dense});
}

}  // namespace argosy
