// Fusion of elementwise ops: chains and DAGs of them over one shape become one op that walks the data once.
//
//   x ─► Mul(a) ─► Add(b) ─► Tanh ─► y     ──►     x, a, b ─► _FusedElementwise[Mul, Add, Tanh] ─► y
//
// Members are ops that say so (OpDef::elementwise, BiasAdd of the last axis), asked for on one device, whose result has
// the group's shape, fully known; operands may be one number, repeat (a bias) or stand for runs (a column). What others
// read, or a step fetches, stays an output. Left alone: nodes with control edges, references, colocation; in graphs
// with control flow, groups with more than one output (one may be dead where another is not).
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes went into fused ones. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_elementwise(StepGraph& step);

}  // namespace argosy
