// The gradient of a ReLU before max-pooling moves to the pooled side, where there are fewer elements:
//
//   dy ─► MaxPoolGrad(x, y) ─► ReluGrad(x) ─► dx     ──►     dy ─► ReluGrad(y) ─► MaxPoolGrad(x, y) ─► dx
//
// The result is the same but for the signs of zeros. The gradient of a window goes to the element with its maximum:
// there x > 0 exactly where y > 0. All other elements get zero in both orders. Left alone: a y that is not the MaxPool
// of x.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many pairs changed places. Dead nodes stay: see remove_unused_nodes().
Result<int> relu_before_pool(StepGraph& step);

}  // namespace argosy
