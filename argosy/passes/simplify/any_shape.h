// Variables whose value may get another shape than the variable's attribute declares.
//
//   v [2] ─► Assign(x [?]) [validate_shape=false]          v is of any shape, and so is every node of its name
//
// TensorFlow uses the shape of the value at the time of the read. So no pass may rely on the declared shape of such a
// variable. Internal to argosy/passes/simplify.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// True if `writer` assigns without validating the shape, and the value's shape may differ from the variable's. In
// TensorFlow 1.15 all assignments by handle are of this kind. So for these, two kinds of values are assumed to have the
// variable's shape:
// * values read from files: Savers assign them, and the shapes in a checkpoint are not known;
// * values of a compatible shape with the same rank: Keras sets weights from placeholders with unknown sizes.
bool may_change_shape(const Graph& graph, const Node& writer);

// Returns the nodes that make such variables, by reference or by handle, in the order of the graph.
std::vector<NodeId> variables_of_any_shape(const Graph& graph);

// (container, name) of a variable. Nodes with equal names make the same variable.
std::pair<std::string, std::string> name_of_variable(const Node& variable);

}  // namespace argosy
