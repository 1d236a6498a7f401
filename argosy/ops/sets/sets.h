// Sets along the last axis. A row of a dense tensor is the set of its distinct values; so are the entries of a sparse
// tensor whose indices differ in the last axis only. Results are sparse, with sorted values.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Sets, as the rows of a sparse tensor.
struct SparseSets {
  Value indices, values, shape;  // [n, rank] int64, [n], [rank] int64
};
// The set operation "a-b", "b-a", "intersection" or "union", row by row.
SparseSets set_operation(Value a, Value b, const std::string& operation);
// The same for sparse sets.
SparseSets set_operation(const SparseSets& a, const SparseSets& b, const std::string& operation);
// The number of distinct values of each set: a dense tensor, of the shape without its last axis.
Value set_size(const SparseSets& sets);

}  // namespace argosy
