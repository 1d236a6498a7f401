// Writes a graph to an event file, for TensorBoard's page "Graphs".
#pragma once

#include "argosy/formats/events/events.h"
#include "argosy/graph/graph.h"

namespace argosy::tf {

// Writes a shortened graph (ExportOptions::picture): large constants without values, functions by name. Errors: those
// of export_graph() and of the file.
Status write_graph(EventWriter& writer, const Graph& graph);

}  // namespace argosy::tf
