// Variables that may come to hold another shape than they say.
//
//   v [2] ─► Assign(x [?]) [validate_shape=false]          v is of any shape
//
// TensorFlow takes what the variable holds when it is read. So no pass may rely on the shape that the variable says.
// Internal to this folder.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// An Assign that takes any shape, where the value's may be another one than the variable's.
bool may_change_shape(const Graph& graph, const Node& writer);

// The nodes that give references to such variables.
std::vector<NodeId> variables_of_any_shape(const Graph& graph);

}  // namespace argosy
