// Loops that can never begin. Internal to argosy/passes/partition.
#pragma once

#include "argosy/passes/partition/loop_frames.h"
#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// INVALID_ARGUMENT "ARG-LOOP-004" where a loop is entered only after something that leaves it. On one task the executor
// sees that nothing runs any more; several would wait for each other for ever.
Status check_loop_entries(const PlacedStep& placed, const LoopFrames& frames);

}  // namespace argosy
