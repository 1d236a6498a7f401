#include "argosy/tf/graph/tools/graph_leftovers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/attr_proto.h"

namespace argosy::tf {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

int strip_defaults(GraphDef& def, const OpRegistry& ops) {
  int stripped = 0;
  const auto strip = [&](NodeDef& node) {
    const OpDef* op = ops.find(node.op());
    if (op == nullptr) return;
    for (const AttrDef& attr : op->attr_defs) {
      const auto given = node.attr().find(attr.name);
      if (given == node.attr().end() || std::holds_alternative<std::monostate>(attr.value)) continue;
      const auto value = from_proto(given->second, &attr, {});
      if (!value.ok() || !attr_equal(*value, attr.value)) continue;
      node.mutable_attr()->erase(attr.name);
      ++stripped;
    }
  };
  for (NodeDef& node : *def.mutable_node()) strip(node);
  for (auto& function : *def.mutable_library()->mutable_function()) {
    for (NodeDef& node : *function.mutable_node_def()) strip(node);
  }
  return stripped;
}

void drop_functions(GraphDef& def) {
  if (def.library().function_size() == 0) return;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> all;
  for (const auto& f : def.library().function()) all.emplace(f.signature().name(), &f);
  std::unordered_map<std::string, std::string> gradients;
  for (const auto& g : def.library().gradient()) gradients.emplace(g.function_name(), g.gradient_func());
  std::unordered_set<std::string> used;
  std::vector<std::string> queue;
  const auto use = [&](const std::string& name) {
    if (all.contains(name) && used.insert(name).second) queue.push_back(name);
  };
  const auto use_node = [&](const NodeDef& node) {
    use(node.op());
    for (const auto& [name, value] : node.attr()) {
      use(value.func().name());
      for (const auto& f : value.list().func()) use(f.name());
      if (name == "_gradient_op_type" || name == "_forward_func_name") use(value.s());
    }
  };
  for (const NodeDef& node : def.node()) use_node(node);
  while (!queue.empty()) {
    const std::string name = queue.back();
    queue.pop_back();
    for (const NodeDef& node : all.at(name)->node_def()) use_node(node);
    if (const auto g = gradients.find(name); g != gradients.end()) use(g->second);
  }
  const auto unused = [&](const std::string& name) { return !used.contains(name); };
  auto& library = *def.mutable_library();
  auto* functions = library.mutable_function();
  functions->erase(
      std::remove_if(functions->begin(), functions->end(), [&](const auto& f) { return unused(f.signature().name()); }),
      functions->end());
  auto* grads = library.mutable_gradient();
  grads->erase(std::remove_if(grads->begin(), grads->end(), [&](const auto& g) { return unused(g.function_name()); }),
               grads->end());
}

void forget_colocations(GraphDef& def) {
  std::unordered_set<std::string_view> left;
  for (const NodeDef& node : def.node()) left.insert(node.name());
  for (NodeDef& node : *def.mutable_node()) {
    const auto attr = node.mutable_attr()->find("_class");
    if (attr == node.mutable_attr()->end()) continue;
    auto* names = attr->second.mutable_list()->mutable_s();
    names->erase(std::remove_if(names->begin(), names->end(),
                                [&](const std::string& name) {
                                  return name.starts_with("loc:@") && !left.contains(std::string_view(name).substr(5));
                                }),
                 names->end());
    if (names->empty()) node.mutable_attr()->erase("_class");
  }
}

}  // namespace argosy::tf
