// Sparse tensors: int64 indices [n, rank], values [n], an int64 shape [rank]. Names are those of tf.sparse.*. Other
// sparse ops have no builder here; they come from imported graphs, or Graph::add().
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// A sparse tensor.
struct SparseValue {
  Value indices, values, shape;  // [n, rank] int64, [n], [rank] int64
};

Value sparse_to_dense(const SparseValue& x, Value default_value);  // default_value where there is no entry
SparseValue sparse_reorder(const SparseValue& x);                  // sorts the entries by index
// The product of a sparse a [m, k] and a dense b [k, n]. adjoint: the conjugate transpose is multiplied.
Value sparse_dense_matmul(const SparseValue& a, Value b, bool adjoint_a = false, bool adjoint_b = false);
Value sparse_dense_add(const SparseValue& a, Value b);  // a dense tensor; both have one shape
Value sparse_softmax(const SparseValue& x);             // over the entries of each row; returns the values alone

// Gathers the rows `indices` of data, and reduces those of each segment. The segment ids ascend.
Value sparse_segment_sum(Value data, Value indices, Value segment_ids);
Value sparse_segment_mean(Value data, Value indices, Value segment_ids);    // the mean of the rows
Value sparse_segment_sqrt_n(Value data, Value indices, Value segment_ids);  // sum / sqrt(number of rows)

}  // namespace argosy
