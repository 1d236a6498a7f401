// Common subexpression elimination: nodes that compute the same from the same inputs become one.
//
//   x ─► Neg ─► a                x ─► Neg ─► a
//   x ─► Neg ─► b      ──►           └─────► b
//
// Left alone: stateful ops, control flow, references, nodes that ask for different devices.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many nodes were merged into others. Dead nodes stay: see remove_unused_nodes().
Result<int> cse(StepGraph& step);

}  // namespace argosy
