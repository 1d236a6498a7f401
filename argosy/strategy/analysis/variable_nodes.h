// Finds variables and the ops that write them, by argument and output types. No optimizer is known by name.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// True if the endpoint carries a reference to, or a handle of, state that steps share.
bool is_handle(const Graph& graph, Endpoint e);
// True if the node is the source of a variable's reference or handle.
bool is_variable(const Node& n);
// True if the node takes a variable's reference or handle and changes the variable.
bool writes_variable(const Graph& graph, const Node& n);
// True if the node draws random numbers and so advances a generator whose state is a variable (tf.random.Generator).
bool moves_generator(const Graph& graph, const Node& n);
// True for nodes that only check or print (Assert, Print). They are stateful only so that no pass removes or merges
// them. Their outputs depend on their inputs alone, so copies may run on shards. Each copy of a Print counts by itself.
bool only_looks(const Node& n);
// True if the node may run several times in a step, since it changes no state (OpDef::effect). Its copies may read the
// same table.
bool may_be_repeated(const Node& n);
// True if an ancestor of `run` writes a variable, or is a stateful call of a function, which may write one.
// `generators`: drawing from a generator counts as a write.
bool writes_variables(const Graph& graph, const std::vector<NodeId>& run, bool generators = true);
// True if a dataset's function, or another that an op runs by itself, has a variable's handle. It may write the variable
// whenever the dataset is read, in a step that does not show it.
bool functions_hold_variables(const Graph& graph);
// Returns the variable that an endpoint's reference or handle points to. Follows Identity and similar ops.
std::optional<NodeId> variable_behind(const Graph& graph, Endpoint e);

}  // namespace argosy
