// gather_groups(): for a collective whose group spans tasks, one of these tasks does the work of all members.
//
//   task a        task b                   task a               task b
//   x ─► sum 0    y ─► sum 1      ──►      x ─► sum 0 ◄ ─ ─ ─ ─ ─ y
//          │             │                        │ └ ─ ─ ─ ─ ─ ─► its readers
//          ▼             ▼                        ▼ sum 1
//
// Inputs and results become ordinary transfers, with their handling of errors and deadlines. The result has the bits of
// one task, since the group itself does not change. Groups are distributed over tasks by bytes, so that no task's
// network carries all of them. Internal to argosy/passes/partition.
#pragma once

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// Moves every such group to the host device of one of its tasks. If all members get the same result, all readers read
// the first member's. Three kinds stay unmoved: groups in loops, groups that update variables, and groups found by
// keys. Returns how many were moved. Errors are those of LoopFrames::find().
Result<int> gather_groups(PlacedStep& placed);

}  // namespace argosy
