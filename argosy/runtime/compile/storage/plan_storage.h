// Where a step's tensors live. Where shapes are known: in an arena planned along each device's order. Elsewhere: in
// memory allocated while running, which goes after its last reader.
//
// In a loop:
//   made before it and read inside    lives to the loop's end.
//   made and read in one iteration    planned as anywhere; its place is used again in the next iteration.
//   carried to the next iteration     never planned: it is alive while the next value is made.
//
// Ops that only forward a value (Switch, Merge, Enter …) move it where nobody reads it afterwards. So the kernel that
// reads a tensor last finds it unshared and may overwrite it: a loop's counters are changed in place.
#pragma once

#include "argosy/runtime/compile/order/static_schedule.h"

namespace argosy {

// Positions in the orders of devices.
struct Positions {
  std::vector<std::int32_t> of_instruction;  // by instruction: in the order of its device
  std::vector<std::int32_t>
      first_wait;  // by asynchronous instruction: the first of its device that waits for it; -1: none
};

// Fills in offsets, arena_bytes, releases, moved inputs, donations, `special` and forecasts. `flow`: null without
// control flow.
void plan_storage(Step& step, const InstructionGraph& instructions, const Positions& positions,
                  const StaticSchedule* flow);

}  // namespace argosy
