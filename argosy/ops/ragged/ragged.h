// Ragged tensors: row splits from the outermost axis inwards, and the values of all rows one after the other. Names are
// those of tf.ragged.*; what is not here is there by its op's name, for graphs of TensorFlow.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Rows of unequal lengths.
struct RaggedValue {
  std::vector<Value> splits;  // of each ragged axis, outermost first: where rows begin in the next, int64
  Value values;               // all rows, one behind the other
};

// Row i counts from starts[i] to limits[i] by deltas[i]; scalars go with every row.
RaggedValue ragged_range(Value starts, Value limits, Value deltas);
RaggedValue ragged_gather(const RaggedValue& x, Value indices);  // the rows with these numbers
// Filled up to the longest row of each axis; `shape`: sizes, -1 where open, or the scalar -1.
Value ragged_to_tensor(const RaggedValue& x, Value shape, Value default_value);

}  // namespace argosy
