// Chains and DAGs of elementwise ops over one shape become one op, which reads and writes the data once.
//
//   x ─► Mul(a) ─► Add(b) ─► Tanh ─► y     ──►     x, a, b ─► _FusedElementwise[Mul, Add, Tanh] ─► y
//
// A member
//   * is elementwise by its definition (OpDef::elementwise), or a BiasAdd of the last axis;
//   * gives the group's shape, which is fully known. An operand may be one number, repeat (a bias) or stand for runs (a
//     column);
//   * asks for the same device as the others.
// Values that others read, or that the step fetches, stay outputs. Left alone are nodes with control edges, references
// or colocation. In a graph with control flow a group has one output: one of two may be dead where the other is not.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes went into fused ones. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_elementwise(StepGraph& step);

}  // namespace argosy
