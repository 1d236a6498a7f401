// What is said of a compiled step before its first run: why it cannot run, and how it does its collectives.
#pragma once

#include <string>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

// The error of a node that could not be imported ("_Missing"), or whose shapes do not fit ("_ShapeError"), if every run
// gets there. REQUIRES: `may_be_dead` is set.
Status check_missing(const Step& step, const InstructionGraph& instructions);

// RESOURCE_EXHAUSTED "ARG-MEM-001" where a device has a cap, and no room for what the plan takes.
Status check_memory(const Step& step);

// Who does the collectives of asynchronous devices: a line for each kind of group.
std::vector<std::string> describe_collectives(const Step& step);

}  // namespace argosy
