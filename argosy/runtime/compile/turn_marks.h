// What the order wants to know of turns (argosy/ops/collective/turns.h), by instruction.
#pragma once

#include "argosy/ops/collective/turns.h"
#include "argosy/runtime/compile/instruction_graph.h"

namespace argosy {

// The mark of the instruction's node; none for copies.
Turn turn_of(const InstructionGraph& instructions, std::int32_t instruction);

// True for a sum over turns, and for a gradient that only such sums or collectives read. The sooner it runs, the sooner
// the activations that it reads may go: nothing else of its turn waits for it, so it would come last.
bool ends_lifetimes(const Step& step, const InstructionGraph& instructions, std::int32_t instruction);

}  // namespace argosy
