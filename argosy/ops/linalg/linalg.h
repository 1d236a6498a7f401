// Linear algebra on stacks of matrices: the last two axes are a matrix, those in front count matrices. float32, float64
// and complex; TensorFlow's names and corner cases.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value cholesky(Value a);  // lower triangular l with l lᴴ = a; reads a's lower triangle
// q r = a with orthonormal q and upper triangular r; `full_matrices`: q square.
struct QrFactors {
  Value q, r;
};
QrFactors qr(Value a, bool full_matrices = false);
// a = u diag(s) vᴴ, s falling.
struct SvdFactors {
  Value s, u, v;
};
SvdFactors svd(Value a, bool full_matrices = false, bool compute_uv = true);
// Eigenvalues, rising, and vectors (columns of v) of a self-adjoint matrix; reads its lower triangle.
struct EigenFactors {
  Value e, v;
};
EigenFactors self_adjoint_eig(Value a, bool compute_v = true);
EigenFactors eig(Value a, bool compute_v = true);  // of any square matrix: complex

Value matrix_inverse(Value a, bool adjoint = false);
Value matrix_determinant(Value a);
Value matrix_solve(Value a, Value rhs, bool adjoint = false);
Value matrix_triangular_solve(Value a, Value rhs, bool lower = true, bool adjoint = false);
// min ‖a x - rhs‖² + l2_regularizer ‖x‖².
Value matrix_solve_ls(Value a, Value rhs, double l2_regularizer = 0, bool fast = true);

}  // namespace argosy
