// Finds under which conditions the instructions of a step are live. What is always live runs without a look; the rest
// looks at a few flags (RunState::dead).
//
// A condition is a set of literals, all of which must hold. A literal is "this predicate is true (false)", or stands
// for something unknown before the run. A Switch adds a literal. A Merge of two branches that differ in one predicate
// alone takes it away again. Everything else is live when all its inputs are. So what follows a cond is as plain as
// what comes before it.
//
// Loops. Merges at the head of a loop hold under what its Enters hold under. That is right for *regular* loops, which
// one predicate P decides. Beyond what the Enters hold under:
//
//   P itself               needs nothing,
//   every NextIteration    needs "P is true",
//   every Exit             needs "P is false".
//
// Proof. If all Enters are live, so are the Merges in the first iteration. While P is true, they are in the next one.
// The first time that P is false nothing iterates, and every Exit is live. So Exits hold under what the Enters hold
// under, and have their values from the last iteration.
#pragma once

#include <span>

#include "argosy/runtime/compile/order/static_schedule.h"

namespace argosy {

// Fills in `may_be_dead` and `dead_flags` of the instructions, `back_edge_inputs` and `loop` of Merges,
// StaticPlan::fetch_dead_flags, and the flags of StaticPlan::loops, which has one entry per frame. `sequence`: as
// StaticSchedule gives it. `after`: as the graph has it, without what was added to find an order. False: a loop is not
// regular, so its Exits cannot wait for its end.
bool analyze_deadness(Step& step, const InstructionGraph& instructions,
                      const std::vector<InstructionGraph::Before>& after, std::span<const std::int32_t> sequence);

}  // namespace argosy
