// Constant folding: values that are known before the step are computed once, by the op's own reference kernel. No op's
// meaning is written a second time.
//
//   Const ─► Neg ─► Add(x)     ──►     Const' ─► Add(x)
//   Shape(x: [4,3]) ─► Prod    ──►     Const 12
//
// The new constant waits for the nodes that its constant inputs waited for. So it stays in its branch, and in its
// iteration of a loop. Outside of control flow, where only effects read it, they wait instead, and the constant is there
// before the step.
//
// Left alone: stateful ops, control flow, nodes that wait for others, results above 1 MiB, and work above 10^6 flops. A
// program whose whole work is constant is meant to be run.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes became constants, or wait for less. Dead nodes stay: see drop_dead_nodes().
Result<int> fold_constants(StepGraph& step);

}  // namespace argosy
