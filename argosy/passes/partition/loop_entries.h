// check_loop_entries(): finds loops that can never begin. Internal to argosy/passes/partition.
#pragma once

#include "argosy/passes/partition/loop_frames.h"
#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// INVALID_ARGUMENT "ARG-LOOP-004": the entry of a loop depends on an exit of the same loop. On one task the executor
// detects that nothing can run; several tasks would wait for each other for ever.
Status check_loop_entries(const PlacedStep& placed, const LoopFrames& frames);

}  // namespace argosy
