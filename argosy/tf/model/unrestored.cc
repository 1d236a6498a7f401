#include "argosy/tf/model/unrestored.h"

#include <map>
#include <set>
#include <string_view>

#include "argosy/formats/proto/meta_graph.pb.h"

namespace argosy {

namespace {

using tensorflow::NodeDef;

// The node of "node:1" or "^node".
std::string_view node_of(std::string_view name) {
  if (name.starts_with('^')) name.remove_prefix(1);
  return name.substr(0, name.find(':'));
}

bool is_variable(const NodeDef& node) {
  return node.op() == "VarHandleOp" || node.op() == "VariableV2" || node.op() == "Variable";
}

// Two nodes with one shared name are one variable.
std::string variable_name(const NodeDef& node) {
  const auto shared = node.attr().find("shared_name");
  return shared == node.attr().end() || shared->second.s().empty() ? node.name() : shared->second.s();
}

// Variables that some nodes need. Functions get theirs as inputs.
class Variables {
 public:
  explicit Variables(const tensorflow::GraphDef& graph) {
    for (const NodeDef& node : graph.node()) nodes_.emplace(node.name(), &node);
  }

  void ask(std::string_view name) {
    std::vector<std::string_view> todo = {node_of(name)};
    while (!todo.empty()) {
      const auto found = nodes_.find(todo.back());
      todo.pop_back();
      if (found == nodes_.end() || !reached_.insert(found->first).second) continue;
      const NodeDef& node = *found->second;
      if (is_variable(node)) needed_.insert(variable_name(node));
      for (const std::string& input : node.input()) todo.push_back(node_of(input));
      if ((node.op() == "Assign" || node.op() == "AssignVariableOp") && node.input_size() > 0)
        assigns_.push_back(&node);
    }
  }

  const std::set<std::string>& needed() const { return needed_; }
  // Those among them that a node asked for gives a value itself.
  std::set<std::string> assigned() const {
    std::set<std::string> names;
    for (const NodeDef* assign : assigns_) {
      const auto variable = nodes_.find(node_of(assign->input(0)));
      if (variable != nodes_.end()) names.insert(variable_name(*variable->second));
    }
    return names;
  }

 private:
  std::map<std::string_view, const NodeDef*> nodes_;
  std::set<std::string_view> reached_;
  std::set<std::string> needed_;
  std::vector<const NodeDef*> assigns_;
};

}  // namespace

std::vector<std::string> unrestored_of(const tensorflow::MetaGraphDef& meta, const std::vector<std::string>& init_ops) {
  Variables read(meta.graph_def()), restored(meta.graph_def());
  for (const auto& [name, signature] : meta.signature_def()) {
    if (name.starts_with("__saved_model")) continue;  // TensorFlow's own: the model's initialisation, say
    for (const auto& [key, info] : signature.outputs()) read.ask(info.name());
  }
  restored.ask(meta.saver_def().restore_op_name());
  for (const std::string& op : init_ops) restored.ask(op);
  const std::set<std::string> assigned = read.assigned();
  std::vector<std::string> names;
  for (const std::string& name : read.needed()) {
    if (!restored.needed().contains(name) && !assigned.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace argosy
