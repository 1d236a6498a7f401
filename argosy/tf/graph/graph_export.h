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
  // For looking at, as TensorBoard's Graphs tab does: constants above 64 bytes keep only dtype and shape, functions
  // only their names, and every node says its outputs' shapes.
  bool picture = false;
  // Attributes that have their default values are left out; TensorFlow fills them in.
  bool strip_defaults = false;
};

// RESOURCE_EXHAUSTED above protobuf's 2 GiB; UNIMPLEMENTED for constants that no message can hold (handles).
Status export_graph(const Graph& graph, tensorflow::GraphDef* def, const ExportOptions& options = {});
// Serialised.
Result<std::string> export_graph(const Graph& graph, const ExportOptions& options = {});

// The same into a file: as text when the path ends in .pbtxt.
Status save_graph(const std::string& path, const Graph& graph, const ExportOptions& options = {});

}  // namespace argosy::tf
