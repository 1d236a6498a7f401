// Sparse matrices in compressed sparse row form (CSR). One value of dtype variant is a matrix [rows, columns] or a
// batch of them, float, double, complex64 or complex128. Differentiable in the matrices' values.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// A matrix, or a batch, from a sparse tensor of rank 2 or 3: indices [n, rank], values [n], dense_shape [rank].
Value csr_from_sparse(Value indices, Value values, Value dense_shape);
// A matrix, or a batch, of the elements of a dense tensor at `indices` [n, rank].
Value csr_from_dense(Value dense, Value indices);
Value csr_to_dense(Value matrix, DType dtype);  // a dense tensor [rows, columns], or [batch, rows, columns]
// matrix x dense, which has the same rank.
Value csr_matmul(Value matrix, Value dense);

}  // namespace argosy
