// Which values of a step may be dead in a run. Internal to argosy/passes/partition. It errs on one side: what it calls
// live is live in every run.
#pragma once

#include <vector>

#include "argosy/passes/partition/loop_frames.h"

namespace argosy {

// By node: may its outputs, but for what Switch itself chooses, be dead? Of nodes in loops: yes. An Exit is live where
// all Enters of its loop are.
Result<std::vector<char>> find_mortal(const Graph& graph, const LoopFrames& frames);
// Of one output.
bool may_be_dead(const Graph& graph, const std::vector<char>& mortal, Endpoint e);

}  // namespace argosy
