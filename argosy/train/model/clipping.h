// Clips gradients. Invalid values (no gradient) pass through.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Scales x down so that its Euclidean norm is at most `norm`. Zeros stay zeros.
Value clip_by_norm(Value x, double norm);
// The square root of the sum of squares over all values.
Value global_norm(const std::vector<Value>& values);
// Scales all values by one factor so that their global norm is at most `norm`: the direction stays. `norm_before`
// receives the norm before clipping, if not null. A norm that is not finite makes every value NaN, so that the fault is
// seen.
std::vector<Value> clip_by_global_norm(const std::vector<Value>& values, double norm, Value* norm_before = nullptr);

}  // namespace argosy
