// Which nodes are variables, and which change them, told by what they are given and give: no optimizer is known by
// name.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Carries a reference to something that steps share, or a handle of it.
bool is_handle(const Graph& graph, Endpoint e);
// Is the source of a variable's reference or handle.
bool is_variable(const Node& n);
// Takes a reference or handle of a variable and changes what is behind it.
bool writes_variable(const Graph& graph, const Node& n);
// Stateful so that it is neither merged nor left out; what it gives depends on its inputs alone, so that copies may
// look at shards. (A Print counts how often it spoke: each copy for itself.)
bool only_looks(const Node& n);
// Looks into a table that other steps fill: copies may look into the one.
bool reads_table(const Node& n);
// Stateful, and may none the less be computed a second time within a step: it looks, or reads a table or a variable.
bool may_be_repeated(const Node& n);
// Something that `run` leads to does, or may: functions are not looked into.
bool writes_variables(const Graph& graph, const std::vector<NodeId>& run);
// The variable behind an endpoint that carries a reference or handle, through Identity and the like.
std::optional<NodeId> variable_behind(const Graph& graph, Endpoint e);

}  // namespace argosy
