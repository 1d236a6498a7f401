// The gradient of Softmax or LogSoftmax becomes one node, on asynchronous devices. There each of the four nodes is a
// kernel of its own, and each reads all rows again.
//
//   y, dy ─► Mul ─► Sum(last axis) ─► Sub(dy, ·) ─► Mul(y) ─► dx   ──►   y, dy ─► _SoftmaxGrad ─► dx
//   dy ─► Sum(last axis) ─► Mul(Exp(y)) ─► Sub(dy, ·) ─► dx        ──►   y, dy ─► _SoftmaxGrad(logarithm) ─► dx
//
// The values between them must have no other user. The shapes of y and dy must be known and equal.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many were fused. `is_async`: as PrepareOptions::is_async. Dead nodes stay: see remove_unused_nodes().
Result<int> fuse_softmax_gradient(StepGraph& step, const std::function<bool(const std::string&)>& is_async);

}  // namespace argosy
