// Rows folded by the segment they belong to, and counting.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Row i of data goes to row segment_ids[i] of the result. The ids ascend; segments without rows give 0 (products 1).
Value segment_sum(Value data, Value segment_ids);
Value segment_mean(Value data, Value segment_ids);  // of each run of equal ids; 0 of none
Value segment_max(Value data, Value segment_ids);   // of each run of equal ids; 0 of none
Value segment_min(Value data, Value segment_ids);   // of each run of equal ids; 0 of none
Value segment_prod(Value data, Value segment_ids);  // of each run of equal ids; 1 of none

// The same for ids in any order and of several axes; rows with a negative id are left out. Segments without rows give
// 0, 1, the lowest or the highest number.
Value unsorted_segment_sum(Value data, Value segment_ids, Value num_segments);
// Of the rows with each id; the lowest number of none.
Value unsorted_segment_max(Value data, Value segment_ids, Value num_segments);
// Of the rows with each id; the highest number of none.
Value unsorted_segment_min(Value data, Value segment_ids, Value num_segments);
Value unsorted_segment_prod(Value data, Value segment_ids, Value num_segments);  // of the rows with each id; 1 of none

// How often each of 0 … size-1 occurs among the values; larger ones are left out. With weights (of the values' shape,
// or empty): the sum of their weights.
Value bincount(Value values, Value size, Value weights);

}  // namespace argosy
