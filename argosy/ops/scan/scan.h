// Running sums and products along an axis.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Options of the functions below.
struct ScanOptions {
  bool exclusive = false;  // element i of the result excludes element i of x
  bool reverse = false;    // start at the end
};

Value cumsum(Value x, int axis = 0, ScanOptions options = {});   // The sums of all elements up to each one.
Value cumprod(Value x, int axis = 0, ScanOptions options = {});  // The products of all elements up to each one.
// log(cumsum(exp(x))), without overflow.
Value cumulative_logsumexp(Value x, int axis = 0, ScanOptions options = {});

}  // namespace argosy
