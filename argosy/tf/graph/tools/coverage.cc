#include "argosy/tf/graph/tools/coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "argosy/formats/proto/meta_graph.pb.h"
#include "argosy/tf/graph/graph_file.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/graph/node_builder.h"

namespace argosy::tf {

namespace {

// The nodes and functions on which a SavedModel's signatures, initialisation and restoring depend. Its other nodes
// (Keras also saves its own saving functions) never run here. In other files every node may run.
class Reached {
 public:
  explicit Reached(const GraphFile& file) : everything_(file.kind != GraphKind::kSavedModel) {
    if (everything_) return;
    const tensorflow::MetaGraphDef& meta = *file.meta;
    for (const auto& node : meta.graph_def().node()) nodes_.emplace(node.name(), &node);
    for (const auto& f : meta.graph_def().library().function()) functions_.emplace(f.signature().name(), &f);
    for (const auto& [name, signature] : meta.signature_def()) {
      for (const auto* ends : {&signature.inputs(), &signature.outputs()}) {
        for (const auto& [key, info] : *ends) ask(info.name());
      }
    }
    ask(meta.saver_def().restore_op_name());
    for (const auto& [name, collection] : meta.collection_def()) {
      if (name != "saved_model_main_op" && name != "legacy_init_op") continue;
      for (const std::string& op : collection.node_list().value()) ask(op);
    }
    everything_ = reached_.empty();  // no signature, nothing to restore: as a plain graph
    while (!todo_.empty()) {
      const tensorflow::NodeDef& node = *todo_.back();
      todo_.pop_back();
      for (const std::string& input : node.input()) ask(input);
      call(node);
    }
  }

  bool node(const std::string& name) const { return everything_ || reached_.contains(name); }
  bool function(const std::string& name) const { return everything_ || called_.contains(name); }
  // By a name that may be either's.
  bool left_out(const std::string& name) const {
    return !everything_ && ((nodes_.contains(name) && !node(name)) || (functions_.contains(name) && !function(name)));
  }

 private:
  void ask(std::string_view name) {
    if (name.starts_with('^')) name.remove_prefix(1);
    const auto found = nodes_.find(name.substr(0, name.find(':')));
    if (found != nodes_.end() && reached_.insert(found->first).second) todo_.push_back(found->second);
  }
  void call(const tensorflow::NodeDef& node) {
    call(node.op());
    for (const auto& [name, attr] : node.attr()) {
      if (attr.has_func()) call(attr.func().name());
      for (const auto& f : attr.list().func()) call(f.name());
    }
  }
  void call(const std::string& name) {
    const auto found = functions_.find(name);
    if (found == functions_.end() || !called_.insert(name).second) return;
    for (const auto& node : found->second->node_def()) call(node);
  }

  bool everything_;
  std::map<std::string, const tensorflow::NodeDef*, std::less<>> nodes_;
  std::map<std::string, const tensorflow::FunctionDef*> functions_;
  std::set<std::string, std::less<>> reached_, called_;
  std::vector<const tensorflow::NodeDef*> todo_;
};

}  // namespace

int Coverage::missing() const {
  return static_cast<int>(
      std::count_if(ops.begin(), ops.end(), [](const OpCoverage& o) { return !o.native && o.needed; }));
}

Result<Coverage> read_coverage(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops) {
  ARGOSY_ASSIGN_OR_RETURN(GraphFile file, read_graph_file(path, tags));
  tensorflow::GraphDef& def = *file.meta->mutable_graph_def();
  Coverage coverage{.kind = std::string(kind_name(file.kind))};
  coverage.functions = def.library().function_size();
  coverage.producer = def.versions().producer();
  coverage.min_consumer = def.versions().min_consumer();
  const Reached reached(file);
  std::map<std::string, OpCoverage> by_op;
  const auto count = [&](const tensorflow::NodeDef& node, const std::string& prefix, bool needed) {
    OpCoverage& op = by_op.try_emplace(node.op(), OpCoverage{.needed = false}).first->second;
    op.nodes.push_back(prefix + node.name());
    op.needed = op.needed || needed;
    ++coverage.nodes;
  };
  for (const auto& node : def.node()) count(node, "", reached.node(node.name()));
  for (const auto& function : def.library().function()) {
    const std::string& name = function.signature().name();
    for (const auto& node : function.node_def()) count(node, name + "/", reached.function(name));
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
    return std::tuple(a.native || !a.needed, a.native, b.nodes.size(), std::string_view(a.op)) <
           std::tuple(b.native || !b.needed, b.native, a.nodes.size(), std::string_view(b.op));
  });
  ImportedGraph imported(ops);
  Status added = imported.extend(std::move(def));
  if (!added.ok()) return std::move(added).with_where(path);
  for (const auto& failure : imported.convert_all()) {
    const bool own = failure.status.where() == str_cat("node '", failure.node, "' (", failure.op, ")");
    if (!own || failure.status.id() == "ARG-IMPORT-001" || reached.left_out(failure.node)) continue;
    coverage.problems.push_back({failure.node, failure.op, failure.status.message()});
  }
  return coverage;
}

}  // namespace argosy::tf
