// Bypasses nodes that return their input unchanged: their readers read the input.
//
//   x ─► Sum (over no axis) ─► y          x ─────► y
//   x ─► Reshape to its shape ─► y   ──►  x ─────► y
//
// Gradients are full of them: in a graph for any batch size, the gradient of an addition sums over axes that turn out
// to be none. OpDef::identity_when says when an op is an identity. Left alone: nodes with control edges, references,
// nodes that request another device than their input, and nodes whose shape or axes input is in a branch or iteration.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes were bypassed. Dead nodes stay: see remove_unused_nodes().
Result<int> remove_identities(StepGraph& step);

}  // namespace argosy
