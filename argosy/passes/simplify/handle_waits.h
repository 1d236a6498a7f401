// move_handle_waits(): a handle that waits for nothing.
//
//   pivot ┄┄► FIFOQueueV2 ─► QueueDequeueV2   ──►   FIFOQueueV2 ─► Identity ─► QueueDequeueV2
//                                                        pivot ┄┄────┘
//
// A handle is found when the step is compiled. What its node waits for is then lost: the branch or the loop that it is
// in, and an order. Here a node that forwards the handle waits instead, as RefIdentity where it is a reference.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

// Returns how many handles waited. Afterwards no node with makes_handle() has control inputs. Every step needs it.
Result<int> move_handle_waits(StepGraph& step);

}  // namespace argosy
