// Fuses batch normalisation with the ops that follow it. Each fusion saves one pass over memory:
//
//   x ─► FusedBatchNorm ─► Relu ─► y                 ──►   x ─► _FusedBatchNormEx(Relu) ─► y
//   x ─► FusedBatchNorm ─► Add(side) ─► Relu ─► y    ──►   x, side ─► _FusedBatchNormEx(Relu) ─► y
//   dy ─► ReluGrad(y) ─► FusedBatchNormGrad ─► dx    ──►   dy ─► _FusedBatchNormGradEx(Relu) ─► dx     (without a side)
//
// The names of the fused ops are TensorFlow's. It fuses training norms with channels last, in float32, and in bfloat16
// without a side input: with one, the sum would be rounded once less. The result has the same bits. The gradient
// recomputes from x where the ReLU was active, with the arithmetic of the forward pass.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes were absorbed. Dead nodes stay: see remove_unused_nodes().
Result<int> fuse_batch_norm(StepGraph& step);

}  // namespace argosy
