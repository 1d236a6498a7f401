// Decides where a step's tensors live. The arena of a device is planned along the device's order. It has places for
// the tensors of known shape that instructions write, but not for these:
//
//   - fetched ones: they outlive the run
//   - strings, handles or other objects (not is_plain())
//   - outputs of blocking ops, such as dequeued values: they have buffers of their own
//   - those in another memory than the device's: what a GPU writes for the host
//   - those that a loop carries to its next iteration, see below
//   - forwarded ones: their memory is that of an input
//
// A tensor without a place is allocated while the step runs, unless it is forwarded. It is released after its last
// reader, or at the end of the run.
//
// In a loop, a tensor that is
//   made before it and read inside    lives to the loop's end.
//   made and read in one iteration    is planned as anywhere; the next iteration uses its place again.
//   carried to the next iteration     is never planned: it is alive while the next value is made.
//
// Ops that only forward a value (Switch, Merge, Enter …) move it if they are its last reader. So the kernel that reads
// a tensor last finds it unshared and may overwrite it: a loop's counters are updated in place.
#pragma once

#include "argosy/runtime/compile/order/control_flow_schedule.h"

namespace argosy {

// Positions in the orders of devices.
struct Positions {
  std::vector<std::int32_t> of_instruction;  // by instruction: in the order of its device
  std::vector<std::int32_t>
      first_wait;  // by asynchronous instruction: position of the first of its device that waits for it; -1: none
};

// Fills in offsets, arena_bytes, releases, moved inputs, donations, `special` and forecasts. `flow`: null without
// control flow and blocking instructions.
void plan_storage(Step& step, const InstructionGraph& instructions, const Positions& positions,
                  const ControlFlowSchedule* flow);

}  // namespace argosy
