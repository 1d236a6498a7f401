// Fills in what each instruction waits for while a step runs: instructions of other devices, asynchronous ones, and
// copies of asynchronous devices. All other dependencies hold by the order of the device.
#pragma once

#include <cstdint>
#include <span>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/compile/storage/plan_storage.h"

namespace argosy {

// Fills in `waits`, `wakes` and `signals` of the instructions, and Positions::first_wait. `order`: the global order.
// REQUIRES: Positions::of_instruction is filled in.
void add_waits(Step& step, const InstructionGraph& instructions, std::span<const std::int32_t> order,
               Positions& positions);

}  // namespace argosy
