// Constant folding: what can be computed before the step is, once, by the op's own reference kernel (there is no second
// copy of any op's meaning).
//
//   Const ─► Neg ─► Add(x)     ──►     Const' ─► Add(x)
//   Shape(x: [4,3]) ─► Prod    ──►     Const 12
//
// What constants wait for, those in their place wait for; where only effects read them, these wait instead, and the
// constant is one before the step.
//
// Left alone: stateful ops, control flow, nodes that wait for others, results above 1 MiB, work above 10^6 flops (a
// program whose whole work is constant is meant to be run).
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes became constants. Dead nodes stay: see drop_dead_nodes().
Result<int> fold_constants(StepGraph& step);

}  // namespace argosy
