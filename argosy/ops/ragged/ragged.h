// Ragged tensors: row splits from the outermost axis inwards, and the values of all rows, concatenated. Names are those
// of tf.ragged.*. Other ragged ops have no builder here; they come from imported graphs, or Graph::add().
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Rows of unequal lengths.
struct RaggedValue {
  std::vector<Value> splits;  // int64 row splits of each ragged axis, outermost first, as in tf.RaggedTensor
  Value values;               // all rows, concatenated
};

// Row i is the range from starts[i] to limits[i] in steps of deltas[i]. Scalars are for all rows.
RaggedValue ragged_range(Value starts, Value limits, Value deltas);
RaggedValue ragged_gather(const RaggedValue& x, Value indices);  // the rows with these numbers
// A dense tensor, padded with default_value to the longest row of each axis. `shape`: the sizes, -1 where they follow
// from x; or the scalar -1.
Value ragged_to_tensor(const RaggedValue& x, Value shape, Value default_value);

}  // namespace argosy
