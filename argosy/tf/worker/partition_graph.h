// A partition of a step as it travels: the GraphDef of RegisterGraph, and what a task runs of it.
#pragma once

#include <string_view>

#include "argosy/passes/simplify/prune.h"

namespace argosy::tf {

// A step that runs every node of the GraphDef that another one needs, or that nobody takes: nothing is fed or fetched,
// `_Recv` and `_Send` nodes do that. Nodes keep their devices; constraints that only a placer reads are dropped: the
// master has placed.
// INVALID_ARGUMENT, NOT_FOUND: a malformed graph, an op that is not known; the error names the node.
Result<StepGraph> read_partition(std::string_view graph_def);

}  // namespace argosy::tf
