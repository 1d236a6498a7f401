// Gradients held within bounds. Invalid values (no gradient) pass through.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Scaled down so that the Euclidean norm is at most `norm`; zeros stay zeros.
Value clip_by_norm(Value x, double norm);
// sqrt of the sum of squares over all of them.
Value global_norm(const std::vector<Value>& values);
// All scaled by one factor so that their global norm is at most `norm`: the direction stays. Its norm before is given
// in `norm_before`, if wanted. A norm that is not finite makes every value NaN, so that it does not go unnoticed.
std::vector<Value> clip_by_global_norm(const std::vector<Value>& values, double norm, Value* norm_before = nullptr);

}  // namespace argosy
