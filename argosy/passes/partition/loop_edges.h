// settle_edges(): changes the edges between tasks that must not become transfers as they are, before the step is cut.
// Internal to argosy/passes/partition.
//
//   reads of references   w ─► Add on another task becomes w ─► Identity ─► Add. The Identity is beside w. It waits for
//                         the other inputs and the control inputs of Add, so it reads what Add would read on one task.
//   Enter                 moves to its reader: its input crosses once for each loop, not its output in each iteration
//   NextIteration         moves to the Merge that reads it, since its output belongs to the next iteration
//   Exit                  moves to the producer of its input: its output crosses once for each loop
//
// A node that several tasks read is copied for each.
#pragma once

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// INVALID_ARGUMENT "ARG-PART-001": a variable or a handle would cross.
Status settle_edges(PlacedStep& placed);

}  // namespace argosy
