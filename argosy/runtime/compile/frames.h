// The dataflow graph of a step (DataflowGraph): who follows whom, and which loop's frame every instruction belongs to.
#pragma once

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// Fills in successors and pending.
void link_instructions(Step& step, const InstructionGraph& instructions);

// Fills in frames, frame_of, local_of, base_of and enters from successors. INVALID_ARGUMENT when an instruction's
// inputs come from different frames (a value used in a loop without an Enter).
Status find_frames(Step& step, const InstructionGraph& instructions);

}  // namespace argosy
