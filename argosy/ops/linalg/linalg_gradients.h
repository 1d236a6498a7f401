// Gradients of this folder's ops. Private to it.
#pragma once

#include "argosy/graph/gradients.h"

namespace argosy::linalg {

std::vector<Value> cholesky_gradient(GradContext& g);
std::vector<Value> inverse_gradient(GradContext& g);
std::vector<Value> determinant_gradient(GradContext& g);
std::vector<Value> log_determinant_gradient(GradContext& g);
std::vector<Value> solve_gradient(GradContext& g);
std::vector<Value> triangular_solve_gradient(GradContext& g);
std::vector<Value> least_squares_gradient(GradContext& g);
std::vector<Value> qr_gradient(GradContext& g);
std::vector<Value> svd_gradient(GradContext& g);
std::vector<Value> self_adjoint_eig_gradient(GradContext& g);
std::vector<Value> tridiagonal_solve_gradient(GradContext& g);
std::vector<Value> tridiagonal_product_gradient(GradContext& g);

}  // namespace argosy::linalg
