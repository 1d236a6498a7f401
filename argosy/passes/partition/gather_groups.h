// Collectives whose group has members on several tasks: one of these tasks does the work of all members.
//
//   task a        task b                   task a               task b
//   x ─► sum 0    y ─► sum 1      ──►      x ─► sum 0 ◄ ─ ─ ─ ─ ─ y
//          │             │                        │ └ ─ ─ ─ ─ ─ ─► its readers
//          ▼             ▼                        ▼ sum 1
//
// Values and results cross as all others do, so what holds for those holds here: errors, deadlines, one cause. The
// result has the bits of one task, since the same group meets. Groups go to their tasks by bytes, so that no task's
// network carries all of them. Internal to argosy/passes/partition.
#pragma once

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// Moves every such group to the host of one of its tasks. Where all members get the same, their readers take the first
// member's. Groups in loops, groups that change variables and those that find each other by keys stay where they
// are. Returns how many were moved. Errors are those of LoopFrames::find().
Result<int> gather_groups(PlacedStep& placed);

}  // namespace argosy
