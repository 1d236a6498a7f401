// GraphDefs: whatever the bytes are, an error or a graph, which then goes out and comes back.

#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/graph/imported_graph.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = argosy::as_text(data, size);
  argosy::tf::ImportedGraph graph;
  if (!graph.extend(bytes).ok()) return 0;
  (void)graph.extend(bytes);  // every name is taken; functions are there already
  (void)graph.value("x:0");
  (void)graph.convert_all();
  const auto exported = argosy::tf::export_graph(graph.graph());
  if (!exported.ok()) return 0;
  argosy::tf::ImportedGraph again;
  if (again.extend(*exported).ok()) (void)again.convert_all();
  return 0;
}
