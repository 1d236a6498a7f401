// Edges that may not cross as they are, and what is done about them before a step is cut. Internal to
// argosy/passes/partition.
//
//   reads of references   w ─► Add on another task    becomes   w ─► Identity beside w ─► Add: after all that Add waits
//                         for, as on one task
//   Enter                 goes to who reads it: then its input crosses once a loop, not its output once an iteration
//   NextIteration         goes to the Merge that reads it: its output comes an iteration later than its task's nodes
//   Exit                  goes to what it reads: then its output crosses once a loop
//
// A node that several tasks read is copied for each.
#pragma once

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// INVALID_ARGUMENT "ARG-PART-001" where a variable or a handle would cross.
Status settle_edges(PlacedStep& placed);

}  // namespace argosy
