// Optimizer updates of many small variables become one op, whose team of threads shares the variables out:
//
//   ApplyAdam(w1, …), ApplyAdam(w2, …), … ─► train     ──►     _ApplyMany[ApplyAdam](w1, w2, …) ─► train
//
// Members are dense updates of one op, dtype, device and set of numbers (the same nodes); nobody reads the references
// they hand on, and none waits for another; steps with control flow are left as they are. Variables of 16,384 elements
// and more are left alone, and a group holds at most 1 MiB of gradients, which it keeps alive until the last one is
// there.
#pragma once

#include "argosy/passes/extract.h"

namespace argosy {

// How many updates went into shared ones. Dead nodes stay: see drop_dead_nodes().
Result<int> fuse_updates(StepGraph& step);

}  // namespace argosy
