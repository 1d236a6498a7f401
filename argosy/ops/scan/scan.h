// Running sums and products along an axis.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Of running sums and products.
struct ScanOptions {
  bool exclusive = false;  // element i folds those before it, without itself
  bool reverse = false;    // from the end
};

Value cumsum(Value x, int axis = 0, ScanOptions options = {});   // The sums of all elements up to each one.
Value cumprod(Value x, int axis = 0, ScanOptions options = {});  // The products of all elements up to each one.
// log(cumsum(exp(x))), without overflow.
Value cumulative_logsumexp(Value x, int axis = 0, ScanOptions options = {});

}  // namespace argosy
