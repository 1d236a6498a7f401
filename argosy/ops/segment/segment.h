// Reductions of the rows of each segment, and bincount.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Row s of the result is the reduction of the rows i of data with segment_ids[i] == s. The ids ascend. A segment
// without rows gives 0, or 1 for products.
Value segment_sum(Value data, Value segment_ids);
Value segment_mean(Value data, Value segment_ids);  // the mean of the rows of each segment
Value segment_max(Value data, Value segment_ids);   // their maximum
Value segment_min(Value data, Value segment_ids);   // their minimum
Value segment_prod(Value data, Value segment_ids);  // their product

// The same for ids in any order, and of several axes; rows with a negative id are skipped. A segment without rows gives
// 0 (sum), 1 (prod), the lowest (max) or the highest number (min).
Value unsorted_segment_sum(Value data, Value segment_ids, Value num_segments);
Value unsorted_segment_max(Value data, Value segment_ids, Value num_segments);   // the maximum of the rows
Value unsorted_segment_min(Value data, Value segment_ids, Value num_segments);   // their minimum
Value unsorted_segment_prod(Value data, Value segment_ids, Value num_segments);  // their product

// Counts how often each of 0 … size-1 occurs among the values; larger values are ignored. With `weights` (of the
// values' shape, or empty): sums the weights instead.
Value bincount(Value values, Value size, Value weights);

}  // namespace argosy
