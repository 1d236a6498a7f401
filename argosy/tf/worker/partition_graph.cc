#include "argosy/tf/worker/partition_graph.h"

#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {

namespace {

// Names of nodes that others read or wait for.
std::unordered_set<std::string> taken_nodes(const tensorflow::GraphDef& def) {
  std::unordered_set<std::string> taken;
  for (const tensorflow::NodeDef& node : def.node()) {
    for (const std::string& input : node.input()) {
      std::string_view name = input;
      if (name.starts_with('^')) name.remove_prefix(1);
      taken.emplace(name.substr(0, name.find(':')));
    }
  }
  return taken;
}

}  // namespace

Result<StepGraph> read_partition(std::string_view graph_def) {
  tensorflow::GraphDef def;
  if (!def.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size()))) {
    return invalid_argument("RegisterGraph: the graph is damaged").with_id("ARG-PROTO-003");
  }
  const std::unordered_set<std::string> taken = taken_nodes(def);
  std::vector<std::string> last;
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    node.mutable_attr()->erase("_class");
    if (!taken.contains(node.name())) last.push_back(node.name());
  }
  ImportedGraph imported;
  imported.allow_internal_names();
  ARGOSY_RETURN_IF_ERROR(imported.extend(std::move(def)));
  StepSignature everything;
  for (const std::string& name : last) {
    ARGOSY_ASSIGN_OR_RETURN(const Value node, imported.value("^" + name));
    everything.targets.push_back(node.node());
  }
  return prune_step(imported.graph(), everything);
}

}  // namespace argosy::tf
