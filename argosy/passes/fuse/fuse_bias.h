// Fusion of a bias and an activation into the product or convolution before them: one pass over the result instead of
// three.
//
//   x, w ─► MatMul ─► BiasAdd(b) ─► Relu ─► y     ──►     x, w, b ─► _FusedMatMul[BiasAdd, Relu] ─► y
//
// Only where nobody else looks at what is in between, and all of it was asked for on one device. AddV2 and Add of a
// vector along the last axis count as BiasAdd. Which op has a fused form is a field of its OpDef.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many products were fused. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_bias(StepGraph& step);

}  // namespace argosy
