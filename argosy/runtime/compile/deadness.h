// Deadness analysis: finds the condition under which each instruction of a step is live. An instruction that is always
// live runs without a check. Any other checks a few flags (RunState::dead).
//
// A condition is a conjunction of literals. A literal is "this predicate is true (false)", or a symbol for a condition
// that is unknown before the run. A Switch adds a literal. A Merge of two branches whose conditions differ in one
// predicate alone removes it. Every other instruction is live when all its inputs are. So an instruction after a cond
// has the condition of one before it.
//
// Loops. The Merges at the head of a loop have the condition of its Enters. That is correct for *regular* loops, which
// one predicate P ends. Beyond the condition of the Enters:
//
//   P itself               needs nothing,
//   every NextIteration    needs "P is true",
//   every Exit             needs "P is false".
//
// Proof. If all Enters are live, so are the Merges in the first iteration. While P is true, they are live in the next
// iteration, too. The first time that P is false no NextIteration is live, and every Exit is. So an Exit has the
// condition of the Enters, and its value is of the last iteration.
#pragma once

#include <span>

#include "argosy/runtime/compile/order/control_flow_schedule.h"

namespace argosy {

// Fills in `may_be_dead` and `dead_flags` of the instructions, `back_edge_inputs` and `loop` of Merges,
// StaticPlan::fetch_dead_flags, and the flags of StaticPlan::loops, which has one entry per frame. `sequence`: the
// order that ControlFlowSchedule::sequence() returned. `after`: InstructionGraph::after without the edges that find_order()
// added. Returns false if a loop is not regular: its Exits then cannot run once, after the loop's end.
bool analyze_deadness(Step& step, const InstructionGraph& instructions,
                      const std::vector<InstructionGraph::Before>& after, std::span<const std::int32_t> sequence);

}  // namespace argosy
