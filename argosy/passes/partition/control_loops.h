// Control loops: what makes several tasks run the same iterations of a loop. Internal to argosy/passes/partition.
//
//   outer control loop's Merge ─► Const ─► Enter ─► Merge ─► Switch ─► NextIteration ─┐
//                                                     ▲        ▲                      │
//                                                     │        └── predicate of the   │
//                                                     │            loop, received     │
//                                                     └───────────────────────────────┘
//
// A task has one for a loop where it receives something in an iteration, or has nodes of the loop without its
// predicate. Its Merge fires once in every iteration, always live: every receive of that loop waits for it. It is entered
// once in each iteration of the loop around it, whether that branch is taken or not: then the predicate arrives dead, and
// the first iteration is the last.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "argosy/passes/partition/loop_frames.h"
#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// Does the edge leave a task, and need a transfer?
bool is_cut(const PlacedStep& placed, NodeId from, NodeId to);

// (frame, task) -> the Merge of the control loop there.
using ControlLoops = std::map<std::pair<int, int>, NodeId>;
// Adds them to the step. REQUIRES: settle_edges() was called. INVALID_ARGUMENT "ARG-PART-002" where a loop that several
// tasks share does not have one LoopCond. UNIMPLEMENTED "ARG-PART-004" where a task of TensorFlow before 2.5 shares it with
// another. `is_foreign`: does the task number frames otherwise? Null: none does.
Result<ControlLoops> add_control_loops(PlacedStep& placed, LoopFrames& frames,
                                       const std::function<bool(int task)>& is_foreign = nullptr);

}  // namespace argosy
