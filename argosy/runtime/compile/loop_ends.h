// The ends of loops in a static schedule: an instruction before a loop's range and one after it, of role kLoopBegin and
// kLoopEnd.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/order/static_schedule.h"
#include "argosy/runtime/compile/storage/plan_storage.h"

namespace argosy {

class LoopEnds {
 public:
  // Puts instructions in place of the negative elements of `order`. An instruction outside that waits for one inside a
  // loop waits for the loop's end; a loop's begin waits for all that is needed inside.
  void add(Step& step, InstructionGraph& instructions, const StaticSchedule& flow, std::vector<std::int32_t>& order);
  // Fills in Loop::begin and end.
  void place(Step& step, const Positions& positions) const;

 private:
  std::vector<std::int32_t> begins_, ends_;  // by frame: instructions; -1: no loop
};

}  // namespace argosy
