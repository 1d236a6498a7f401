// Batch normalisation takes in what follows it, so that images pass through memory once less each time:
//
//   x ─► FusedBatchNorm ─► Relu ─► y                 ──►   x ─► _FusedBatchNormEx(Relu) ─► y
//   x ─► FusedBatchNorm ─► Add(side) ─► Relu ─► y    ──►   x, side ─► _FusedBatchNormEx(Relu) ─► y
//   dy ─► ReluGrad(y) ─► FusedBatchNormGrad ─► dx    ──►   dy ─► _FusedBatchNormGradEx(Relu) ─► dx     (without a side)
//
// The names of the fused ops are TensorFlow's. float32 with channels last, and bfloat16 without a side (whose sum would
// be rounded once less); the same numbers, bit for bit: the gradient finds out where the ReLU was open from x, with the
// forward pass's own arithmetic.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes were taken in. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_batch_norm(StepGraph& step);

}  // namespace argosy
