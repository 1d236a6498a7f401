// Deadness of the values of a step. Internal to argosy/passes/partition. It is conservative: a value that it calls live
// is live in every run, and one that it reports may be dead.
#pragma once

#include <vector>

#include "argosy/passes/partition/loop_frames.h"

namespace argosy {

// Returns by node: its outputs may be dead (the choice of a Switch itself not counted). True for nodes in loops, except
// ControlTriggers, and the Exits of an outermost loop whose Enters are all live.
Result<std::vector<char>> find_maybe_dead(const Graph& graph, const LoopFrames& frames);
// True if this output may be dead, the choice of a Switch included.
bool may_be_dead(const Graph& graph, const std::vector<char>& maybe_dead, Endpoint e);

}  // namespace argosy
