// Chains and DAGs of elementwise ops over one shape become one op, which reads and writes the data once.
//
//   x ─► Mul(a) ─► Add(b) ─► Tanh ─► y     ──►     x, a, b ─► _FusedElementwise[Mul, Add, Tanh] ─► y
//
// A member
//   * is elementwise by its definition (OpDef::elementwise), or a BiasAdd of the last axis;
//   * has the group's shape, which is fully known. An operand may be a scalar, a row that is repeated (a bias), or a
//     column, each of whose elements serves a run of elements;
//   * asks for the same device as the others.
// Values that others read, or that the step fetches, stay outputs. Left alone are nodes with control edges, references
// or colocation. In a graph with control flow a group has one output, since one of two outputs may be dead alone.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes were fused into others. Dead nodes stay: see remove_unused_nodes().
Result<int> fuse_elementwise(StepGraph& step);

}  // namespace argosy
