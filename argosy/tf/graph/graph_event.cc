#include "argosy/tf/graph/graph_event.h"

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/graph_export.h"

namespace argosy::tf {

Status write_graph(EventWriter& writer, const Graph& graph) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string graph_def, export_graph(graph, {.picture = true}));
  return writer.graph_def(0, graph_def);
}

}  // namespace argosy::tf
