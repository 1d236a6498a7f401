// The order of a step's instructions, over all devices: argosy/runtime/compile/order/schedule.h decides it, from what is
// found here of every instruction. Updates of a variable come after the readers that may come before, so that they find
// its memory unshared and write in place.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/order/static_schedule.h"

namespace argosy {

// By instruction: the number of its collective group, as attribute "group" names it; 0: none.
std::vector<std::int32_t> collective_groups(const InstructionGraph& instructions);

// Adds to InstructionGraph::after: writers of a variable wait for its readers. Edges are taken from one valid order, so
// they close no cycle. `flow`: null without control flow. INTERNAL when there is a cycle.
Result<std::vector<std::int32_t>> find_order(const Step& step, InstructionGraph& instructions,
                                             const std::vector<std::int32_t>& groups, const StaticSchedule* flow);

}  // namespace argosy
