// Gradients of the CSR ops. The gradient of a matrix has the same non-zero places as the matrix; other elements get
// none.
#pragma once

#include <vector>

#include "argosy/graph/gradients.h"

namespace argosy::csr {

std::vector<Value> from_sparse_gradient(GradContext& g);
std::vector<Value> from_dense_gradient(GradContext& g);
std::vector<Value> to_dense_gradient(GradContext& g);
std::vector<Value> to_sparse_gradient(GradContext& g);
std::vector<Value> matmul_gradient(GradContext& g);
std::vector<Value> sparse_matmul_gradient(GradContext& g);
std::vector<Value> transpose_gradient(GradContext& g);
std::vector<Value> add_gradient(GradContext& g);
std::vector<Value> softmax_gradient(GradContext& g);

}  // namespace argosy::csr
