// Shape errors in a branch are deferred to run time, so that a step that does not take the branch succeeds. Internal to
// the code that builds the graph of a step, whose shapes follow from its feeds.
//
//   x [2, 5] ─► Switch ─► Squeeze [1]   ──►   x [2, 5] ─► Switch ─► _ShapeError "Can not squeeze dim[1], …"
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// True if the node depends, by data or control, on a Switch. Conservative: some of these nodes can never be dead.
bool is_behind_switch(const Graph& graph, NodeId id);

// Handles `error` of a node's shape function. A node behind a Switch, or of a function's body (`in_function`), becomes
// a "_ShapeError": it is dead where the node would be, and fails a step that runs it. For any other node, for control
// flow ops, for callers of functions, and for INTERNAL and RESOURCE_EXHAUSTED, returns the error. REQUIRES: the node's
// inputs are in the graph.
Status defer_shape_error(Graph& graph, NodeId id, Status error, bool in_function = false);

}  // namespace argosy
