// Ops that read and write elements by index: gather, scatter, one-hot, where, unique, partitions, top-k. Names and
// defaults are those of tf.*.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// params[..., indices, ...] along `axis`. The first batch_dims axes of both are batch axes.
Value gather(Value params, Value indices, int axis = 0, int batch_dims = 0);
// The slices of params at the index vectors along the last axis of indices.
Value gather_nd(Value params, Value indices);
// Zeros of the given shape, with updates added at indices.
Value scatter_nd(Value indices, Value updates, Value shape);
// tensor, with the slices at indices replaced by updates.
Value tensor_scatter_update(Value tensor, Value indices, Value updates);
Value tensor_scatter_add(Value tensor, Value indices, Value updates);  // tensor, with updates added at indices
Value tensor_scatter_sub(Value tensor, Value indices, Value updates);  // tensor, with updates subtracted at indices

// Adds an axis of `depth` elements: on_value at the index, off_value elsewhere.
Value one_hot(Value indices, int depth, int axis = -1, double on_value = 1, double off_value = 0,
              DType dtype = DType::kFloat32);
// Coordinates [n, rank] of the elements that are not zero.
Value where(Value condition);
// The number of the bucket, between sorted boundaries, of each element.
Value bucketize(Value x, const std::vector<float>& boundaries);

// Distinct elements in order of appearance, and for each element of x its position among them.
struct Distinct {
  Value values, index, count;  // count: only from unique_with_counts
};
// The distinct elements of a vector, in order of appearance.
Distinct unique(Value x, DType index_type = DType::kInt32);
Distinct unique_with_counts(Value x, DType index_type = DType::kInt32);  // The same with counts.
// The elements of x that are not in y, and their positions in x.
Distinct setdiff1d(Value x, Value y, DType index_type = DType::kInt32);

// Distributes the rows of data to num_partitions outputs, by the numbers in `partitions`.
std::vector<Value> dynamic_partition(Value data, Value partitions, int num_partitions);
// The inverse of dynamic_partition(): row indices[i][j] of the result is data[i][j]. If rows coincide, the last one
// wins.
Value dynamic_stitch(const std::vector<Value>& indices, const std::vector<Value>& data);

// The k largest elements along the last axis, in descending order (equal ones by index), and their indices.
struct TopValues {
  Value values, indices;  // [..., k]; indices are int32
};
// The k largest elements of each row; of equal ones the first. `sorted`: in descending order.
TopValues top_k(Value x, int k, bool sorted = true);
// True for each row whose target's prediction is among the k largest.
Value in_top_k(Value predictions, Value targets, int k);

}  // namespace argosy
