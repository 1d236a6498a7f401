// What the order wants to know of turns (argosy/ops/collective/turns.h), by instruction.
#pragma once

#include <string>
#include <vector>

#include "argosy/ops/collective/turns.h"
#include "argosy/runtime/compile/instruction_graph.h"

namespace argosy {

// The mark of the instruction's node; none for copies.
Turn turn_of(const InstructionGraph& instructions, std::int32_t instruction);

// True for a sum over turns, and for a gradient that only such sums or collectives read. The sooner it runs, the sooner
// the activations that it reads may go: nothing else of its turn waits for it, so it would come last.
bool ends_lifetimes(const Step& step, const InstructionGraph& instructions, std::int32_t instruction);

// A line for people where instructions of a later turn come before an earlier one has ended, as dependencies want it:
// activations of several turns are alive then. Empty: every device does one turn after the other. `order`: the step's;
// negative entries are loops.
std::string describe_mixed_turns(const Step& step, const InstructionGraph& instructions,
                                 const std::vector<std::int32_t>& order);

}  // namespace argosy
