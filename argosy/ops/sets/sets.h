// Sets in the last axis: of dense tensors, the distinct values of a row; of sparse ones, the values at the same place
// of all axes but the last. Results are sparse, their values sorted.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Sets, as the rows of a sparse tensor.
struct SparseSets {
  Value indices, values, shape;  // [n, rank] int64, [n], [rank] int64
};
// operation: "a-b", "b-a", "intersection" or "union".
SparseSets set_operation(Value a, Value b, const std::string& operation);
// "a-b", "b-a", "intersection" or "union" of the sets in equal places.
SparseSets set_operation(const SparseSets& a, const SparseSets& b, const std::string& operation);
// How many distinct values every set has: dense, of the shape without its last axis.
Value set_size(const SparseSets& sets);

}  // namespace argosy
