// Fuses a matrix product or convolution with its bias and activation: one pass over the result instead of three.
//
//   x, w ─► MatMul ─► BiasAdd(b) ─► Relu ─► y     ──►     x, w, b ─► _FusedMatMul[BiasAdd, Relu] ─► y
//
// The values between them must have no other user, and all nodes must ask for one device. AddV2 and Add of a vector
// along the last axis count as BiasAdd. OpDef::fused_as names the fused form of an op.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many products were fused. Dead nodes stay: see remove_unused_nodes().
Result<int> fuse_bias(StepGraph& step);

}  // namespace argosy
