// A graph as TensorBoard's Graphs tab shows it: names, ops, devices, edges, attributes and shapes, as a serialised
// GraphDef. For looking at, not for running: constants above 64 bytes keep only dtype and shape, functions only names.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy::tf {

// RESOURCE_EXHAUSTED above protobuf's 2 GiB.
Result<std::string> graph_picture(const Graph& graph);

}  // namespace argosy::tf
