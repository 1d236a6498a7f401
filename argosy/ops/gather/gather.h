// Picking and placing elements by index: gather, scatter, one-hot, where, unique, partitions, the largest k.
// Names and defaults are those of tf.*.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// params[..., indices, ...] along `axis`; the first batch_dims axes of both go together.
Value gather(Value params, Value indices, int axis = 0, int batch_dims = 0);
// The slices of params that the last axis of indices points at.
Value gather_nd(Value params, Value indices);
// Zeros of the given shape with updates added where indices point.
Value scatter_nd(Value indices, Value updates, Value shape);
// tensor with the slices that indices point at replaced, or updates added to or subtracted from them.
Value tensor_scatter_update(Value tensor, Value indices, Value updates);
Value tensor_scatter_add(Value tensor, Value indices, Value updates);  // tensor, with updates added at indices
Value tensor_scatter_sub(Value tensor, Value indices, Value updates);  // tensor, with updates subtracted at indices

// A new axis of `depth` elements: on at the index, off elsewhere.
Value one_hot(Value indices, int depth, int axis = -1, double on_value = 1, double off_value = 0,
              DType dtype = DType::kFloat32);
// Coordinates [n, rank] of the elements that are not zero.
Value where(Value condition);
// Number of the bucket between sorted boundaries that each element falls into.
Value bucketize(Value x, const std::vector<float>& boundaries);

// Distinct elements in order of appearance, and for each element of x its place among them.
struct Distinct {
  Value values, index, count;  // count: from unique_with_counts alone
};
// The distinct elements of a vector in order of appearance, and the place of each element's own among them.
Distinct unique(Value x, DType index_type = DType::kInt32);
Distinct unique_with_counts(Value x, DType index_type = DType::kInt32);  // The same with how often each occurs.
// Elements of x that are not in y, and their places in x.
Distinct setdiff1d(Value x, Value y, DType index_type = DType::kInt32);

// Rows of data into num_partitions outputs, as partitions says; and rows merged by index, later ones winning.
std::vector<Value> dynamic_partition(Value data, Value partitions, int num_partitions);
// The inverse of dynamic_partition(): row indices[i][j] of the result is data[i][j].
Value dynamic_stitch(const std::vector<Value>& indices, const std::vector<Value>& data);

// The k largest along the last axis, in descending order (equal ones by index), and where they were.
struct TopValues {
  Value values, indices;  // of the last axis: [..., k]; int32 places
};
// The k largest of each row, largest first; of equal ones the first.
TopValues top_k(Value x, int k, bool sorted = true);
// Is the target's prediction among the k largest of its row?
Value in_top_k(Value predictions, Value targets, int k);

}  // namespace argosy
