// What does not fit together in a branch is no error of a step that does not go there. Internal to what builds the graph
// of a step, whose shapes follow from its feeds.
//
//   x [2, 5] ─► Switch ─► Squeeze [1]   ──►   x [2, 5] ─► Switch ─► _ShapeError "Can not squeeze dim[1], …"
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Does anything that the node reads or waits for come out of a Switch? More nodes are behind one than may be dead.
bool is_behind_switch(const Graph& graph, NodeId id);

// Of a node whose shape function gave `error`. Behind a Switch it becomes a "_ShapeError", which is dead where the node
// is, and fails a step that gets there. Anywhere else this returns the error, unless the node is of a function's body:
// the step may not need it. For Flow and callers of functions it returns the error, too. REQUIRES: the node's inputs are in
// the graph.
Status defer_shape_error(Graph& graph, NodeId id, Status error, bool in_function = false);

}  // namespace argosy
