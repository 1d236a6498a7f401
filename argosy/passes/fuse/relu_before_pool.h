// A ReLU before max-pooling is undone on the pooled side, where there is less to undo:
//
//   dy ─► MaxPoolGrad(x, y) ─► ReluGrad(x) ─► dx     ──►     dy ─► ReluGrad(y) ─► MaxPoolGrad(x, y) ─► dx
//
// The same numbers, signs of zeros aside: a window's gradient goes to the cell whose value is the window's maximum, so
// that x > 0 there just where y > 0; all other cells get nothing either way.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many pairs changed places. Dead nodes stay: see drop_dead_nodes().
Result<int> relu_before_pool(StepGraph& step);

}  // namespace argosy
