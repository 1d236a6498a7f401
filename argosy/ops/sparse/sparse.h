// Sparse tensors: int64 indices [n, rank], values [n], an int64 shape [rank]. Names are those of tf.sparse.*; what is
// not here is there by its op's name, for graphs of TensorFlow.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// A sparse tensor.
struct SparseValue {
  Value indices, values, shape;  // [n, rank] int64, [n], [rank] int64
};

Value sparse_to_dense(const SparseValue& x, Value default_value);  // default_value where there is no entry
SparseValue sparse_reorder(const SparseValue& x);                  // entries in order of their indices
// A [m, k] sparse times b [k, n] dense; adjoint: conjugated and transposed.
Value sparse_dense_matmul(const SparseValue& a, Value b, bool adjoint_a = false, bool adjoint_b = false);
Value sparse_dense_add(const SparseValue& a, Value b);  // a dense tensor; of one shape
Value sparse_softmax(const SparseValue& x);             // over the entries of each row; values alone

// Rows of data that `indices` choose, combined by the ascending segment each belongs to.
Value sparse_segment_sum(Value data, Value indices, Value segment_ids);
Value sparse_segment_mean(Value data, Value indices, Value segment_ids);    // the mean of the rows of each segment
Value sparse_segment_sqrt_n(Value data, Value indices, Value segment_ids);  // their sum over the root of their number

}  // namespace argosy
