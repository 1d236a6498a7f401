// What flows back through a softmax, or a LogSoftmax, in one node, on asynchronous devices: there each
// node is a kernel of its own, and each reads all of its rows again.
//
//   y, dy ─► Mul ─► Sum(last axis) ─► Sub(dy, ·) ─► Mul(y) ─► dx   ──►   y, dy ─► _SoftmaxGrad ─► dx
//   dy ─► Sum(last axis) ─► Mul(Exp(y)) ─► Sub(dy, ·) ─► dx        ──►   y, dy ─► _SoftmaxGrad(logarithm) ─► dx
//
// Only where nobody else looks at what is in between, and y and dy surely have one shape.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many were fused. `is_async` as in PrepareOptions. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_softmax_gradient(StepGraph& step, const std::function<bool(const std::string&)>& is_async);

}  // namespace argosy
