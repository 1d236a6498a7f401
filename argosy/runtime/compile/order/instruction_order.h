// Finds the order of a step's instructions over all devices. It describes each instruction to the scheduler
// (argosy/runtime/compile/order/schedule.h). Before that it orders updates of a variable after its readers, where
// dependencies allow that: the updates then find its memory unshared and write in place.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/order/control_flow_schedule.h"

namespace argosy {

// Returns by instruction the number of its collective group (attribute "group"); 0: none.
std::vector<std::int32_t> collective_groups(const InstructionGraph& instructions);

// Returns the global order. With `flow` its negative elements are the ends of loops (ControlFlowSchedule). Adds to
// InstructionGraph::after that writers of a variable wait for its readers. These edges are taken from one valid order,
// so they close no cycle. `flow`: null without control flow and blocking instructions. INTERNAL when there is a cycle.
Result<std::vector<std::int32_t>> find_order(const Step& step, InstructionGraph& instructions,
                                             const std::vector<std::int32_t>& groups, const ControlFlowSchedule* flow);

}  // namespace argosy
