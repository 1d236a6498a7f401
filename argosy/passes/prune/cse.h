// Common subexpressions: nodes that compute the same from the same become one.
//
//   x ─► Neg ─► a                x ─► Neg ─► a
//   x ─► Neg ─► b      ──►           └─────► b
//
// Left alone: stateful ops, control flow, references, nodes asked for on different devices.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many nodes were merged away. Dead nodes stay: see drop_dead_nodes().
Result<int> cse(StepGraph& step);

}  // namespace argosy
