// Smaller ops on arrays: searching, histograms, assignment to slices.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// x; a step in which its shape contradicts `shape` fails.
Value ensure_shape(Value x, PartialShape shape);
// The cross product of vectors of three numbers, along the last axis.
Value cross(Value a, Value b);
// How many values fall into each of nbins intervals of equal width over value_range; those outside count at its ends.
Value histogram_fixed_width(Value values, Value value_range, Value nbins);
// Per row of sorted numbers [rows, n], for each of `values` [rows, m]: the first place where it could be inserted, and
// the last.
Value lower_bound(Value sorted, Value values);
Value upper_bound(Value sorted, Value values);  // The same with the last place: how many are not greater.
// The n-th smallest number (or, reversed, largest) along the last axis, counted from 0.
Value nth_element(Value x, Value n, bool reverse = false);

}  // namespace argosy
