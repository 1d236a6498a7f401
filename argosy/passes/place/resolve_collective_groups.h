// Collectives whose members find each other by name or keys (OpDef::group): who belongs together is settled before the
// step runs, so that nobody waits for a member that cannot come.
//
//   gpu:0: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 0, "size" 2
//   gpu:1: NcclAllReduce "c0" of 2     ──►     "group" nccl c0, "rank" 1, "size" 2
//
// Ranks are in the order of the devices that the members ask for. Where each device has several members of one group (a
// function called more than once), they meet in turn.
#pragma once

#include "argosy/passes/prune/prune.h"

namespace argosy {

// How many groups there are. "ARG-GROUP-…": members that are missing from the step (INVALID_ARGUMENT), too many, or do
// not agree on what they do (INTERNAL, as in TensorFlow); keys that are not known before the step (UNIMPLEMENTED).
Result<int> resolve_collective_groups(StepGraph& step);

}  // namespace argosy
