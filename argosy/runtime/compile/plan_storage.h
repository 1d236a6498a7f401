// Where a step's tensors live: in an arena planned along each device's order where shapes are known, else in memory
// allocated while running and let go of after the last reader.
//
// In a loop. What is made before it and read inside lives to its end. What is made inside and read in the same
// iteration is planned as anywhere; its place is used again in the next. What is carried to the next iteration (by a NextIteration, through
// views) is never planned: it is alive while the next value is made. The values that ops forward without a kernel
// (Switch, Merge, Enter …) are moved where nobody reads them after, so that a kernel which is the last to read a tensor
// finds it unshared and may overwrite it: a loop's counters are changed in place.
#pragma once

#include "argosy/runtime/compile/static_schedule.h"

namespace argosy {

struct Positions {
  std::vector<std::int32_t> of_instruction;  // by instruction: in the order of its device
  std::vector<std::int32_t>
      first_wait;  // by asynchronous instruction: the first of its device that waits for it; -1: none
};

// Fills in offsets, arena_bytes, releases, moves, donations and forecasts. `flow`: null without control flow.
void plan_storage(Step& step, const InstructionGraph& instructions, const Positions& positions,
                  const StaticSchedule* flow);

}  // namespace argosy
