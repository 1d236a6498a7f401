// Smaller ops on arrays: searching, histograms, assignment to slices.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Returns x. A step fails if the shape of x is not compatible with `shape`.
Value ensure_shape(Value x, PartialShape shape);
// The cross product of vectors of three numbers, along the last axis.
Value cross(Value a, Value b);
// The number of values in each of nbins intervals of equal width over value_range. Values outside count in the first or
// the last interval.
Value histogram_fixed_width(Value values, Value value_range, Value nbins);
// For each of `values` [rows, m], the first position in its row of `sorted` [rows, n] at which it could be inserted.
Value lower_bound(Value sorted, Value values);
Value upper_bound(Value sorted, Value values);  // The last such position: the number of elements <= it.
// The n-th smallest number (or, reversed, largest) along the last axis, counted from 0.
Value nth_element(Value x, Value n, bool reverse = false);

}  // namespace argosy
