// Fills in Step::dataflow (DataflowGraph): the successors of each instruction, and the loop frame that it belongs to.
#pragma once

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// Fills in successors and pending.
void link_instructions(Step& step, const InstructionGraph& instructions);

// Fills in frames, frame_of, local_of, base_of and enters from successors. INVALID_ARGUMENT for
// * an instruction whose inputs come from different frames (a value used in a loop without an Enter),
// * an Exit outside of every loop,
// * a cycle without an Enter.
Status find_frames(Step& step, const InstructionGraph& instructions);

}  // namespace argosy
