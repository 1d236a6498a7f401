#include "argosy/tf/coverage.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "argosy/tf/graph_file.h"
#include "argosy/tf/imported_graph.h"
#include "argosy/tf/meta_graph.pb.h"
#include "argosy/tf/node_builder.h"

namespace argosy::tf {

int Coverage::missing() const {
  return static_cast<int>(std::count_if(ops.begin(), ops.end(), [](const OpCoverage& o) { return !o.native; }));
}

Result<Coverage> read_coverage(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops) {
  ARGOSY_ASSIGN_OR_RETURN(GraphFile file, read_graph_file(path, tags));
  tensorflow::GraphDef& def = *file.meta->mutable_graph_def();
  Coverage coverage{.kind = std::string(kind_name(file.kind))};
  coverage.functions = def.library().function_size();
  coverage.producer = def.versions().producer();
  coverage.min_consumer = def.versions().min_consumer();
  std::map<std::string, OpCoverage> by_op;
  const auto count = [&](const tensorflow::NodeDef& node, const std::string& prefix) {
    by_op[node.op()].nodes.push_back(prefix + node.name());
    ++coverage.nodes;
  };
  for (const auto& node : def.node()) count(node, "");
  for (const auto& function : def.library().function()) {
    for (const auto& node : function.node_def()) count(node, function.signature().name() + "/");
  }
  const auto& functions = def.library().function();
  for (auto& [op, entry] : by_op) {
    entry.op = op;
    entry.native = ops.find(op) != nullptr || op == "SymbolicGradient" ||
                   std::any_of(functions.begin(), functions.end(),
                               [&name = op](const auto& f) { return f.signature().name() == name; });
    coverage.ops.push_back(std::move(entry));
  }
  std::sort(coverage.ops.begin(), coverage.ops.end(), [](const OpCoverage& a, const OpCoverage& b) {
    return std::tuple(a.native, b.nodes.size(), std::string_view(a.op)) <
           std::tuple(b.native, a.nodes.size(), std::string_view(b.op));
  });
  ImportedGraph imported(ops);
  Status added = imported.extend(std::move(def));
  if (!added.ok()) return std::move(added).with_where(path);
  for (const auto& failure : imported.convert_all()) {
    const bool own = failure.status.where() == str_cat("node '", failure.node, "' (", failure.op, ")");
    if (!own || failure.status.id() == "ARG-IMPORT-001") continue;
    coverage.problems.push_back({failure.node, failure.op, failure.status.message()});
  }
  return coverage;
}

}  // namespace argosy::tf
