#include "argosy/ops/linalg/linalg.h"

#include <algorithm>
#include <optional>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/linalg/linalg_gradients.h"

namespace argosy {

namespace {

// What is known of input i as a stack of matrices.
struct Known {
  bool rank = false;
  std::vector<std::int64_t> batch;
  std::int64_t rows = kUnknownSize, columns = kUnknownSize;

  PartialShape with(std::initializer_list<std::int64_t> last) const {
    if (!rank) return PartialShape::unknown();
    std::vector<std::int64_t> sizes = batch;
    sizes.insert(sizes.end(), last.begin(), last.end());
    return PartialShape(std::move(sizes));
  }
};

Result<Known> matrices(const ShapeContext& c, int i, bool square) {
  Known k;
  const PartialShape& shape = c.input(i);
  if (!shape.has_rank()) return k;
  if (shape.rank() < 2) return invalid_argument(c.op().name, ": input must have rank >= 2, not shape ", shape);
  k.rank = true;
  k.batch.assign(shape.sizes().begin(), shape.sizes().end() - 2);
  k.rows = shape[shape.rank() - 2];
  k.columns = shape[shape.rank() - 1];
  if (square) {
    if (k.rows >= 0 && k.columns >= 0 && k.rows != k.columns) {
      return invalid_argument(c.op().name, ": input matrix must be square, not of shape ", shape);
    }
    k.rows = k.columns = std::max(k.rows, k.columns);
  }
  return k;
}
std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? (a == 0 || b == 0 ? 0 : kUnknownSize) : std::min(a, b);
}
Status same_batch(const ShapeContext& c, const Known& a, const Known& b) {
  if (!a.rank || !b.rank) return ok_status();
  const Status merged = a.with({}).merge(b.with({})).status();
  if (merged.ok()) return merged;
  return invalid_argument(c.op().name, ": all inputs must have the same axes in front of their matrices, not ",
                          a.with({}), " and ", b.with({}));
}
Status agree(const ShapeContext& c, std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0 || a == b) return ok_status();
  return invalid_argument(c.op().name, ": inputs ", c.input(0), " and ", c.input(1), " are incompatible");
}

Status square_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  c.set_output(0, a.with({a.rows, a.rows}));
  return ok_status();
}
Status cholesky_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(square_shape(c));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape both, c.output(0).merge(c.input(1)));
  c.set_output(0, std::move(both));
  return ok_status();
}
Status determinant_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  c.set_all_outputs(a.with({}));
  return ok_status();
}
Status lu_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  c.set_output(0, a.with({a.rows, a.rows}));
  c.set_output(1, a.with({a.rows}));
  return ok_status();
}
Status qr_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, false));
  const std::int64_t inner = c.attrs().get_bool("full_matrices") ? a.rows : smaller(a.rows, a.columns);
  c.set_output(0, a.with({a.rows, inner}));
  c.set_output(1, a.with({inner, a.columns}));
  return ok_status();
}
Status svd_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, false));
  const std::int64_t inner = smaller(a.rows, a.columns);
  const bool full = c.attrs().get_bool("full_matrices");
  c.set_output(0, a.with({inner}));
  const bool vectors = c.attrs().get_bool("compute_uv");
  c.set_output(1, vectors ? a.with({a.rows, full ? a.rows : inner}) : PartialShape({0}));
  c.set_output(2, vectors ? a.with({a.columns, full ? a.columns : inner}) : PartialShape({0}));
  return ok_status();
}
Status eigen_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  c.set_output(0, a.with({a.rows}));
  const PartialShape none = c.op().name == "Eig" ? PartialShape::scalar() : PartialShape({0});
  c.set_output(1, c.attrs().get_bool("compute_v") ? a.with({a.rows, a.rows}) : none);
  return ok_status();
}
Status stacked_eigen_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  c.set_output(0, a.with({a.rows < 0 ? kUnknownSize : a.rows + 1, a.rows}));
  return ok_status();
}
Status solve_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, true));
  ARGOSY_ASSIGN_OR_RETURN(const Known b, matrices(c, 1, false));
  ARGOSY_RETURN_IF_ERROR(same_batch(c, a, b));
  ARGOSY_RETURN_IF_ERROR(agree(c, a.rows, b.rows));
  c.set_output(0, c.input(1));
  return ok_status();
}
Status broadcasting_solve_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, c.op().name.ends_with("MatrixTriangularSolve")));
  ARGOSY_ASSIGN_OR_RETURN(const Known b, matrices(c, 1, false));
  if (!a.rank || !b.rank) return ok_status();
  ARGOSY_RETURN_IF_ERROR(agree(c, a.columns, b.rows));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape batch, broadcast(a.with({}), b.with({})));
  std::vector<std::int64_t> sizes = batch.sizes();
  sizes.insert(sizes.end(), {std::max(a.columns, b.rows), b.columns});
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}
Status least_squares_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, false));
  ARGOSY_ASSIGN_OR_RETURN(const Known b, matrices(c, 1, false));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  ARGOSY_RETURN_IF_ERROR(same_batch(c, a, b));
  ARGOSY_RETURN_IF_ERROR(agree(c, a.rows, b.rows));
  if (a.rank) c.set_output(0, a.with({a.columns, b.columns}));
  return ok_status();
}
Status tridiagonal_solve_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, 0, false));
  ARGOSY_ASSIGN_OR_RETURN(const Known b, matrices(c, 1, false));
  ARGOSY_RETURN_IF_ERROR(same_batch(c, a, b));
  ARGOSY_RETURN_IF_ERROR(agree(c, a.columns, b.rows));
  ARGOSY_RETURN_IF_ERROR(agree(c, a.rows, 3));
  c.set_output(0, c.input(1));
  return ok_status();
}
Status tridiagonal_product_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Known b, matrices(c, 3, false));
  for (int i = 0; i < 3; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const Known a, matrices(c, i, false));
    ARGOSY_RETURN_IF_ERROR(same_batch(c, a, b));
    ARGOSY_RETURN_IF_ERROR(agree(c, a.columns, b.rows));
    ARGOSY_RETURN_IF_ERROR(agree(c, a.rows, 1));
  }
  c.set_output(0, c.input(3));
  return ok_status();
}

// The cube of the matrix' size, times ten.
Cost matrix_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const PartialShape& shape = c.input(0);
  if (shape.rank() >= 2) {
    cost.flops = 10 * static_cast<double>(std::max<std::int64_t>(shape.elements(), 1)) *
                 static_cast<double>(std::max<std::int64_t>(shape[shape.rank() - 1], 1));
  }
  return cost;
}

// TensorFlow's names of before ops took stacks of matrices: "Batch" in front, and fewer dtypes.
std::optional<OpSpec> old_form(const OpSpec& spec) {
  struct Old {
    std::string_view name;
    const char* types = "T: {double, float}";
  };
  constexpr Old kOld[] = {
      {"Cholesky"},
      {"CholeskyGrad", "T: {float, double}"},
      {"MatrixInverse"},
      {"MatrixDeterminant", "T: {float, double, complex64, complex128}"},
      {"MatrixSolve"},
      {"MatrixTriangularSolve"},
      {"MatrixSolveLs"},
      {"SelfAdjointEigV2"},
      {"Svd", "T: {double, float, complex64, complex128}"},
  };
  const auto* const old =
      std::find_if(std::begin(kOld), std::end(kOld), [&](const Old& o) { return o.name == spec.name; });
  if (old == std::end(kOld)) return std::nullopt;
  OpSpec batch = spec;
  batch.name = "Batch" + spec.name;
  for (std::string& attr : batch.attrs) {
    if (attr.starts_with("T:")) attr = old->types;
  }
  return batch;
}

}  // namespace

void add_linalg_ops(OpRegistry& ops) {
  using namespace linalg;  // NOLINT(google-build-using-namespace): this folder's gradients
  const std::string types = "T: {double, float, half, complex64, complex128}";
  const std::string half_too = "T: {half, float, double, complex64, complex128}";
  const auto add = [&](OpSpec spec) {
    spec.cost = matrix_cost;
    if (const auto old = old_form(spec)) ops.add(*old);
    ops.add(std::move(spec));
  };
  const auto one = [&](const char* name, const char* doc, std::vector<std::string> attrs, ShapeFn shape,
                       GradientFn gradient, bool cpu_only = false) {
    add({.name = name,
         .doc = doc,
         .inputs = {"input: T"},
         .outputs = {"output: T"},
         .attrs = std::move(attrs),
         .shape = shape,
         .gradient = gradient,
         .cpu_only = cpu_only});
  };
  one("Cholesky", "Lower triangular factors.", {types}, square_shape, cholesky_gradient);
  add({.name = "CholeskyGrad",
       .doc = "The gradient of Cholesky.",
       .inputs = {"l: T", "grad: T"},
       .outputs = {"output: T"},
       .attrs = {"T: {half, float, double}"},
       .shape = cholesky_grad_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  one("MatrixInverse", "Inverses.", {"adjoint: bool = false", types}, square_shape, inverse_gradient);
  one("MatrixDeterminant", "Determinants.", {half_too}, determinant_shape, determinant_gradient);
  add({.name = "LogMatrixDeterminant",
       .doc = "Sign and logarithm of the size of determinants.",
       .inputs = {"input: T"},
       .outputs = {"sign: T", "log_abs_determinant: T"},
       .attrs = {half_too},
       .shape = determinant_shape,
       .gradient = log_determinant_gradient});
  one("MatrixSquareRoot", "Square roots of whole matrices.", {types}, square_shape, kNotDifferentiable, true);
  one("MatrixLogarithm", "Logarithms of whole matrices.", {"T: {complex64, complex128}"}, square_shape,
      kNotDifferentiable, true);
  add({.name = "Lu",
       .doc = "Triangular factors of matrices whose rows are exchanged.",
       .inputs = {"input: T"},
       .outputs = {"lu: T", "p: output_idx_type"},
       .attrs = {types, "output_idx_type: index = int32"},
       .shape = lu_shape,
       .gradient = kNotDifferentiable});
  add({.name = "Qr",
       .doc = "Orthonormal and upper triangular factors.",
       .inputs = {"input: T"},
       .outputs = {"q: T", "r: T"},
       .attrs = {"full_matrices: bool = false", types},
       .shape = qr_shape,
       .gradient = qr_gradient});
  add({.name = "Svd",
       .doc = "Singular values and vectors.",
       .inputs = {"input: T"},
       .outputs = {"s: T", "u: T", "v: T"},
       .attrs = {"compute_uv: bool = true", "full_matrices: bool = false", types},
       .shape = svd_shape,
       .gradient = svd_gradient});
  add({.name = "SelfAdjointEigV2",
       .doc = "Eigenvalues and vectors of self-adjoint matrices.",
       .inputs = {"input: T"},
       .outputs = {"e: T", "v: T"},
       .attrs = {"compute_v: bool = true", types},
       .shape = eigen_shape,
       .gradient = self_adjoint_eig_gradient});
  for (const bool batch : {false, true}) {
    one(batch ? "BatchSelfAdjointEig" : "SelfAdjointEig", "Eigenvalues in a row, and vectors below them.",
        {batch ? "T: {double, float}" : "T: {double, float, half}"}, stacked_eigen_shape, kNotDifferentiable, true);
  }
  add({.name = "Eig",
       .doc = "Eigenvalues and vectors.",
       .inputs = {"input: T"},
       .outputs = {"e: Tout", "v: Tout"},
       .attrs = {"compute_v: bool = true", "T: {float, double, complex64, complex128}",
                 "Tout: {complex64, complex128}"},
       .shape = eigen_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  add({.name = "MatrixSolve",
       .doc = "Solutions of linear systems.",
       .inputs = {"matrix: T", "rhs: T"},
       .outputs = {"output: T"},
       .attrs = {"adjoint: bool = false", types},
       .shape = solve_shape,
       .gradient = solve_gradient});
  add({.name = "MatrixTriangularSolve",
       .doc = "Solutions of triangular systems.",
       .inputs = {"matrix: T", "rhs: T"},
       .outputs = {"output: T"},
       .attrs = {"lower: bool = true", "adjoint: bool = false",
                 "T: {bfloat16, double, float, half, complex64, complex128}"},
       .shape = broadcasting_solve_shape,
       .gradient = triangular_solve_gradient});
  add({.name = "BandedTriangularSolve",
       .doc = "Solutions of triangular systems of few bands.",
       .inputs = {"matrix: T", "rhs: T"},
       .outputs = {"output: T"},
       .attrs = {"lower: bool = true", "adjoint: bool = false", types},
       .shape = broadcasting_solve_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  add({.name = "MatrixSolveLs",
       .doc = "Least-squares solutions.",
       .inputs = {"matrix: T", "rhs: T", "l2_regularizer: double"},
       .outputs = {"output: T"},
       .attrs = {types, "fast: bool = true"},
       .shape = least_squares_shape,
       .gradient = least_squares_gradient,
       .cpu_only = true});
  const std::string no_half = "T: {double, float, complex64, complex128}";
  add({.name = "TridiagonalSolve",
       .doc = "Solutions of tridiagonal systems.",
       .inputs = {"diagonals: T", "rhs: T"},
       .outputs = {"output: T"},
       .attrs = {"partial_pivoting: bool = true", "perturb_singular: bool = false", no_half},
       .shape = tridiagonal_solve_shape,
       .gradient = tridiagonal_solve_gradient});
  add({.name = "TridiagonalMatMul",
       .doc = "Products of tridiagonal matrices and others.",
       .inputs = {"superdiag: T", "maindiag: T", "subdiag: T", "rhs: T"},
       .outputs = {"output: T"},
       .attrs = {no_half},
       .shape = tridiagonal_product_shape,
       .gradient = tridiagonal_product_gradient});
}

Value cholesky(Value a) { return a.valid() ? a.graph().add("Cholesky", {a}) : a; }
QrFactors qr(Value a, bool full_matrices) {
  if (!a.valid()) return {};
  const Value q = a.graph().add("Qr", {a}, {{"full_matrices", full_matrices}});
  return {q, q.output(1)};
}
SvdFactors svd(Value a, bool full_matrices, bool compute_uv) {
  if (!a.valid()) return {};
  const Value s = a.graph().add("Svd", {a}, {{"full_matrices", full_matrices}, {"compute_uv", compute_uv}});
  return {s, s.output(1), s.output(2)};
}
EigenFactors self_adjoint_eig(Value a, bool compute_v) {
  if (!a.valid()) return {};
  const Value e = a.graph().add("SelfAdjointEigV2", {a}, {{"compute_v", compute_v}});
  return {e, e.output(1)};
}
EigenFactors eig(Value a, bool compute_v) {
  if (!a.valid()) return {};
  const bool wide = a.dtype() == DType::kFloat64 || a.dtype() == DType::kComplex128;
  const Value e =
      a.graph().add("Eig", {a}, {{"compute_v", compute_v}, {"Tout", wide ? DType::kComplex128 : DType::kComplex64}});
  return {e, e.output(1)};
}
Value matrix_inverse(Value a, bool adjoint) {
  return a.valid() ? a.graph().add("MatrixInverse", {a}, {{"adjoint", adjoint}}) : a;
}
Value matrix_determinant(Value a) { return a.valid() ? a.graph().add("MatrixDeterminant", {a}) : a; }
Value matrix_solve(Value a, Value rhs, bool adjoint) {
  return a.valid() ? a.graph().add("MatrixSolve", {a, rhs}, {{"adjoint", adjoint}}) : a;
}
Value matrix_triangular_solve(Value a, Value rhs, bool lower, bool adjoint) {
  return a.valid() ? a.graph().add("MatrixTriangularSolve", {a, rhs}, {{"lower", lower}, {"adjoint", adjoint}}) : a;
}
Value matrix_solve_ls(Value a, Value rhs, double l2_regularizer, bool fast) {
  if (!a.valid()) return a;
  Graph& graph = a.graph();
  return graph.add("MatrixSolveLs", {a, rhs, constant(graph, l2_regularizer)}, {{"fast", fast}});
}

}  // namespace argosy
