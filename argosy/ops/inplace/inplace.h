// Updates of rows of a tensor: tf.raw_ops.Inplace*. The result is in place of `x` if no other node reads `x`. Otherwise
// `x` keeps its value, where TensorFlow would change it for its other readers.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Returns x with row i[k] replaced by v[k], for each k in order. `i`: int32 [n], modulo the number of rows; `v`: [n,
// …].
Value inplace_update(Value x, Value i, Value v);
Value inplace_add(Value x, Value i, Value v);  // x, with v added to the rows i
Value inplace_sub(Value x, Value i, Value v);  // x, with v subtracted from the rows i

}  // namespace argosy
