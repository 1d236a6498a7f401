// The turns of instructions (argosy/ops/collective/turns.h), as the scheduler uses them. A turn is one of the shards of
// a batch that a device computes one after another.
#pragma once

#include <string>
#include <vector>

#include "argosy/ops/collective/turns.h"
#include "argosy/runtime/compile/instruction_graph.h"

namespace argosy {

// The turn that the instruction's node is marked with; unmarked for copies.
Turn turn_of(const InstructionGraph& instructions, std::int32_t instruction);

// True for a sum over turns, and for a gradient that only such sums or collectives read, directly or scaled in place.
// The scheduler runs it early, so that the activations that it reads are freed. Nothing else of its turn depends on it,
// so it would otherwise come last.
bool ends_lifetimes(const Step& step, const InstructionGraph& instructions, std::int32_t instruction);

// Returns a line for the report if instructions of a later turn come before the end of an earlier one, as dependencies
// may force. Activations of several turns are then alive at once. Returns "" where every device does one turn after the
// other. `order`: the global order; negative elements (ends of loops) are ignored.
std::string describe_mixed_turns(const Step& step, const InstructionGraph& instructions,
                                 const std::vector<std::int32_t>& order);

}  // namespace argosy
