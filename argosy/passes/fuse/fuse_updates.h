// Optimizer updates of many small variables become one op, whose team of threads shares the variables out:
//
//   ApplyAdam(w1, …), ApplyAdam(w2, …), … ─► train     ──►     _ApplyMany[ApplyAdam](w1, w2, …) ─► train
//
// Members are dense updates of one op, dtype, device and set of numbers (the same nodes); nobody reads the references
// they forward, and none waits for another; steps with control flow are left as they are. Variables of 16,384 elements
// and more are left alone, and a group holds at most 1 MiB of gradients, which it keeps alive until the last one is
// there. On asynchronous devices a launch costs more than a cache does: there a group takes variables of
// any size, up to 32 MiB of gradients.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many updates went into shared ones. Dead nodes stay: see drop_dead_nodes(). `is_async`: is the device that a
// node asks for ("": none in particular) run asynchronously? Null: none does.
Result<int> fuse_updates(StepGraph& step, const std::function<bool(const std::string& device)>& is_async = nullptr);

}  // namespace argosy
