// Fuses optimizer updates of many small variables into one op, which divides the variables among its threads:
//
//   ApplyAdam(w1, …), ApplyAdam(w2, …), … ─► train     ──►     _ApplyMany[ApplyAdam](w1, w2, …) ─► train
//
// Members are dense updates that
//   * have the same op, dtype and device, and read the same scalars (from the same nodes);
//   * have references that no other node reads, and do not wait for each other.
//
// A group keeps its gradients alive until the last one is computed. So on synchronous devices a variable has fewer than
// 16,384 elements, and a group has at most 1 MiB of gradients. On asynchronous devices a launch costs more than cache
// locality saves: variables have any size, and a group has at most 32 MiB. Steps with control flow are left alone.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many updates were fused. Dead nodes stay: see remove_unused_nodes(). `is_async`: as
// PrepareOptions::is_async.
Result<int> fuse_updates(StepGraph& step, const std::function<bool(const std::string& device)>& is_async = nullptr);

}  // namespace argosy
