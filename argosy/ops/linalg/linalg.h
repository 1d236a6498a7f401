// Linear algebra on stacks of matrices: the last two axes are a matrix, those in front count matrices. float32, float64
// and complex; TensorFlow's names and corner cases.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value cholesky(Value a);  // lower triangular l with l lᴴ = a; reads a's lower triangle
// q r = a with orthonormal q and upper triangular r; `full_matrices`: q square.
struct QrFactors {
  Value q, r;  // q: orthonormal columns; r: upper triangle
};
QrFactors qr(Value a, bool full_matrices = false);  // a = q r. full_matrices: q is square.
// a = u diag(s) vᴴ, s falling.
struct SvdFactors {
  Value s, u, v;  // s: singular values, falling; columns of u and v. Without compute_uv: s alone
};
// Singular values and vectors. full_matrices: u and v are square.
SvdFactors svd(Value a, bool full_matrices = false, bool compute_uv = true);
// Eigenvalues, rising, and vectors (columns of v) of a self-adjoint matrix; reads its lower triangle.
struct EigenFactors {
  Value e, v;  // eigenvalues, and vectors as columns of v; without compute_v: e alone
};
EigenFactors self_adjoint_eig(Value a, bool compute_v = true);  // Of a symmetric or Hermitian matrix.
EigenFactors eig(Value a, bool compute_v = true);               // of any square matrix: complex

Value matrix_inverse(Value a, bool adjoint = false);           // adjoint: of its conjugate transpose
Value matrix_determinant(Value a);                             // of square matrices
Value matrix_solve(Value a, Value rhs, bool adjoint = false);  // x where a x = rhs; adjoint: aᴴ x = rhs
// The same of a triangle; what lies outside is not read.
Value matrix_triangular_solve(Value a, Value rhs, bool lower = true, bool adjoint = false);
// min ‖a x - rhs‖² + l2_regularizer ‖x‖².
Value matrix_solve_ls(Value a, Value rhs, double l2_regularizer = 0, bool fast = true);

}  // namespace argosy
