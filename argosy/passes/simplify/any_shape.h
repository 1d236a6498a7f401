// Variables that may come to hold another shape than they say.
//
//   v [2] ─► Assign(x [?]) [validate_shape=false]          v is of any shape, and so is every node of its name
//
// TensorFlow takes what the variable holds when it is read. So no pass may rely on the shape that the variable says.
// Internal to this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// An assignment that takes any shape, where the value's may be another one than the variable's. By handle, two kinds of
// values are taken to have the variable's shape, for in TensorFlow 1.15 all assignments are of this kind:
// * what a file gives: Savers assign so, and nothing tells the shape of what a checkpoint holds;
// * what has the variable's rank and fits it: Keras sets weights from placeholders of open sizes.
bool may_change_shape(const Graph& graph, const Node& writer);

// The nodes that give such variables, by reference or by handle, in the order of the graph.
std::vector<NodeId> variables_of_any_shape(const Graph& graph);

// Container and name. Nodes of one name are one variable.
std::pair<std::string, std::string> name_of_variable(const Node& variable);

}  // namespace argosy
