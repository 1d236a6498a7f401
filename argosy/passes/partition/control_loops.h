// Control loops: nodes that make a task run the same iterations of a loop as the task with its predicate. Internal to
// argosy/passes/partition.
//
//   outer control loop's Merge ─► Const ─► Enter ─► Merge ─► Switch ─► NextIteration ─┐
//                                                     ▲        ▲                      │
//                                                     │        └── predicate of the   │
//                                                     │            loop, received     │
//                                                     └───────────────────────────────┘
//
// A task gets a control loop for a loop if it receives something in its iterations, or has nodes of the loop but not
// its predicate. The control loop's Merge fires once in every iteration and is never dead: every receive of the loop
// waits for it. The control loop is entered once in each iteration of the surrounding loop, even if the branch with the
// loop is not taken. In that case the predicate arrives dead, and the first iteration is the last.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "argosy/passes/partition/loop_frames.h"
#include "argosy/passes/partition/placed_step.h"

namespace argosy {

// True if the edge crosses tasks and needs a transfer.
bool is_cut(const PlacedStep& placed, NodeId from, NodeId to);

// (frame, task) -> the Merge of the control loop there.
using ControlLoops = std::map<std::pair<int, int>, NodeId>;
// Adds the control loops to the step. REQUIRES: settle_edges() was called. `is_foreign`: true if the task numbers
// frames in another way; null: no task does. INVALID_ARGUMENT "ARG-PART-002": a loop on several tasks does not have
// exactly one LoopCond. UNIMPLEMENTED "ARG-PART-004": a task of TensorFlow before 2.5 shares a loop with another task.
Result<ControlLoops> add_control_loops(PlacedStep& placed, LoopFrames& frames,
                                       const std::function<bool(int task)>& is_foreign = nullptr);

}  // namespace argosy
