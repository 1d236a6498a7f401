// A graph in an event file, for TensorBoard's page "Graphs".
#pragma once

#include "argosy/formats/events/events.h"
#include "argosy/graph/graph.h"

namespace argosy::tf {

// Constants are cut, so that the file stays small. Errors: UNIMPLEMENTED for a graph that TensorFlow's form cannot hold,
// and those of the file.
Status write_graph(EventWriter& writer, const Graph& graph);

}  // namespace argosy::tf
