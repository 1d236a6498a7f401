// LoopEnds: adds the two ends of each loop to a static schedule. They are an instruction of role kLoopBegin before the
// loop's range, and one of role kLoopEnd after it.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/order/control_flow_schedule.h"
#include "argosy/runtime/compile/storage/plan_storage.h"

namespace argosy {

class LoopEnds {
 public:
  // Replaces the negative elements of `order` by instructions. An instruction outside of a loop that waits for one
  // inside then waits for the loop's end. The loop's begin waits for whatever its instructions need from outside.
  void add(Step& step, InstructionGraph& instructions, const ControlFlowSchedule& flow,
           std::vector<std::int32_t>& order);
  // Fills in Loop::begin and Loop::end of every loop.
  void place(Step& step, const Positions& positions) const;

 private:
  std::vector<std::int32_t> begins_, ends_;  // by frame: instructions; -1: no loop
};

}  // namespace argosy
