// Rows of a tensor updated, added to, subtracted from: tf.raw_ops.Inplace*. The result takes the memory of `x` where
// nobody else reads that; where somebody does, `x` keeps its value (TensorFlow would change it under its readers).
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// y = x, but y[i[k]] = v[k] for each k in turn. `i`: int32 [n], counted modulo the rows of x; `v`: [n, …].
Value inplace_update(Value x, Value i, Value v);
Value inplace_add(Value x, Value i, Value v);  // x, with v added to the rows i
Value inplace_sub(Value x, Value i, Value v);  // x, with v subtracted from the rows i

}  // namespace argosy
