// How often integers occur in sparse and ragged rows: tf.math.bincount and tf.sparse.bincount. Counts are rows of a
// dense matrix (SparseBincount, RaggedBincount) or a sparse one (…CountSparseOutput). Those of dense rows are in
// argosy/ops/segment.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Counts, as a sparse tensor.
struct SparseCounts {
  Value indices, values, shape;  // [n, rank] int64, [n], [rank] int64
};

// The distinct values in each row of a vector or matrix of int32 or int64, and their counts. `maxlength` >= 0: values
// from there on are ignored. `minlength`: the least number of columns.
SparseCounts count_values(Value values, std::int64_t minlength = -1, std::int64_t maxlength = -1);

}  // namespace argosy
