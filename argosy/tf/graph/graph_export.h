// Writes our graphs as GraphDefs: names, devices, edges, attributes, all elements of constants, functions as
// FunctionDefs. Imported again, the result is the same graph. TensorFlow runs it if all ops are TensorFlow's.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace tensorflow {
class GraphDef;
}

namespace argosy::tf {

struct ExportOptions {
  // For display, as in TensorBoard's Graphs tab: constants above 64 bytes keep only dtype and shape, functions only
  // their names, and every node has its outputs' shapes as an attribute.
  bool picture = false;
  // Leaves out attributes that have their default values; TensorFlow fills them in.
  bool strip_defaults = false;
};

// RESOURCE_EXHAUSTED above protobuf's 2 GiB; UNIMPLEMENTED for constants that no message can hold (handles).
Status export_graph(const Graph& graph, tensorflow::GraphDef* def, const ExportOptions& options = {});
// Returns the serialised GraphDef.
Result<std::string> export_graph(const Graph& graph, const ExportOptions& options = {});

// Writes the GraphDef to a file, as text if the path ends in .pbtxt.
Status save_graph(const std::string& path, const Graph& graph, const ExportOptions& options = {});

}  // namespace argosy::tf
