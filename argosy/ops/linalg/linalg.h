// Linear algebra on batches of matrices: the last two axes are a matrix, the leading axes are batch axes. float32,
// float64 and complex; TensorFlow's names and corner cases.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value cholesky(Value a);  // lower triangular l with l lᴴ = a; reads a's lower triangle
// The QR factors of a matrix.
struct QrFactors {
  Value q, r;  // q: orthonormal columns; r: upper triangle
};
QrFactors qr(Value a, bool full_matrices = false);  // a = q r. full_matrices: q is square.
// The singular value decomposition a = u diag(s) vᴴ.
struct SvdFactors {
  Value s, u, v;  // s: singular values, descending; u and v: singular vectors as columns. Without compute_uv: s alone
};
// Singular values and vectors. full_matrices: u and v are square.
SvdFactors svd(Value a, bool full_matrices = false, bool compute_uv = true);
// Eigenvalues and eigenvectors. Those of self_adjoint_eig() are ascending; it reads the lower triangle alone.
struct EigenFactors {
  Value e, v;  // e: eigenvalues; v: eigenvectors as columns. Without compute_v: e alone
};
EigenFactors self_adjoint_eig(Value a, bool compute_v = true);  // of a symmetric or Hermitian matrix
EigenFactors eig(Value a, bool compute_v = true);               // of any square matrix; the results are complex

Value matrix_inverse(Value a, bool adjoint = false);           // adjoint: the inverse of aᴴ
Value matrix_determinant(Value a);                             // of square matrices
Value matrix_solve(Value a, Value rhs, bool adjoint = false);  // x where a x = rhs; adjoint: aᴴ x = rhs
// The same for a triangular a; elements outside the triangle are not read.
Value matrix_triangular_solve(Value a, Value rhs, bool lower = true, bool adjoint = false);
// The x that minimizes ‖a x - rhs‖² + l2_regularizer ‖x‖².
Value matrix_solve_ls(Value a, Value rhs, double l2_regularizer = 0, bool fast = true);

}  // namespace argosy
