// Nodes that change nothing go: whoever read them reads what they read.
//
//   x ─► Sum (over no axis) ─► y          x ─────► y
//   x ─► Reshape to its shape ─► y   ──►  x ─────► y
//
// Gradients are full of them: where a graph is built for any batch, the gradient of an addition sums over axes that
// turn out to be none. Left alone: nodes with control edges, references, nodes asked for on another device than their
// input.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes were bypassed. Dead nodes stay: see drop_dead_nodes().
Result<int> remove_identities(StepGraph& step);

}  // namespace argosy
