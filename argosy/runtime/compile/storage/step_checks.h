// Checks and descriptions of a compiled step before its first run: errors that every run would have, memory, and how it
// does its collectives.
#pragma once

#include <string>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// Returns the error of a node that could not be imported ("_Missing") or whose shapes do not fit ("_ShapeError"), if
// every run reaches that node. REQUIRES: `may_be_dead` is set.
Status check_missing(const Step& step, const InstructionGraph& instructions);

// RESOURCE_EXHAUSTED "ARG-MEM-001" where the step's forecast does not fit under the cap of a device.
Status check_memory(const Step& step);

// Returns a line for each kind of group of asynchronous devices: which backend carries its collectives.
std::vector<std::string> describe_collectives(const Step& step);

}  // namespace argosy
