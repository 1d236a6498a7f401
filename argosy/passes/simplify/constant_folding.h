// Constant folding: values that are known before the step are computed once, by the kernel that a step on the CPU would
// run. So no op is implemented twice, and a constant gives the bits of a fed value.
//
//   Const ─► Neg ─► Add(x)     ──►     Const' ─► Add(x)
//   Shape(x: [4,3]) ─► Prod    ──►     Const 12
//
// The new constant waits for the nodes that its constant inputs waited for. So it stays in its branch, and in its
// iteration of a loop. If it is outside of control flow and only nodes with effects read it, those nodes wait instead,
// and the constant is available before the step.
//
// Left alone: stateful ops, control flow, nodes with control inputs, results above 1 MiB, and work above 10^6 flops.
// The limits keep a program whose whole work is constant from running at compile time.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes became constants or lost control inputs. Dead nodes stay: see remove_unused_nodes().
Result<int> fold_constants(StepGraph& step);

}  // namespace argosy
