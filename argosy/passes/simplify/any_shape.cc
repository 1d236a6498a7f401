#include "argosy/passes/simplify/any_shape.h"

#include <algorithm>
#include <set>

namespace argosy {

namespace {

constexpr const char* kValidates = "validate_shape";
constexpr int kMostForwards = 16;  // Switch, Identity, another Assign

bool may_validate(const OpDef& op) { return op.attr(kValidates) != nullptr; }

bool may_differ(const PartialShape& before, const PartialShape& after) { return !before.is_full() || before != after; }

bool is_from_file(const Graph& graph, Endpoint value) {
  for (int k = 0; k < kMostForwards; ++k) {
    const Node& n = graph.node(value.node);
    if (n.op->opens_files) return true;
    if (!n.op->forwards || n.inputs.empty()) return false;
    value = n.inputs[0];
  }
  return false;
}

// True for a node that declares a shape, and makes a variable by reference or by handle.
bool is_variable(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (!n.inputs.empty() || n.output_dtypes.empty() || n.op->attr("shape") == nullptr) return false;
  if (n.output_is_ref(0)) return true;
  return n.op->attr("shared_name") != nullptr && graph.handle({id, 0}) != nullptr;
}

}  // namespace

std::pair<std::string, std::string> name_of_variable(const Node& variable) {
  auto name = variable.attrs.get_or<std::string>("shared_name", "");
  if (name.empty()) name = variable.name;
  return {variable.attrs.get_or<std::string>("container", ""), std::move(name)};
}

bool may_change_shape(const Graph& graph, const Node& writer) {
  const bool* const same = writer.attrs.find_as<bool>(kValidates);
  if (same == nullptr || *same || writer.inputs.size() < 2) return false;
  const Endpoint variable = writer.inputs[0], value = writer.inputs[1];
  if (graph.dtype(variable) != DType::kResource) return may_differ(graph.shape(variable), graph.shape(value));
  if (is_from_file(graph, value)) return false;
  const HandleFact* const says = graph.handle(variable);
  const PartialShape& after = graph.shape(value);
  return says == nullptr || after.rank() < 0 || !says->shape.compatible(after);
}

std::vector<NodeId> variables_of_any_shape(const Graph& graph) {
  std::vector<NodeId> variables;
  std::vector<const OpDef*> writers;
  for (const OpDef* op : graph.ops_met()) {
    if (may_validate(*op)) writers.push_back(op);
  }
  if (writers.empty()) return variables;
  std::set<std::pair<std::string, std::string>> names;
  for (const Node& n : graph.nodes()) {
    if (std::find(writers.begin(), writers.end(), n.op) == writers.end() || !may_change_shape(graph, n)) continue;
    NodeId from = n.inputs[0].node;
    for (int k = 0; k < kMostForwards && !graph.node(from).inputs.empty(); ++k) from = graph.node(from).inputs[0].node;
    if (is_variable(graph, from)) names.insert(name_of_variable(graph.node(from)));
  }
  if (names.empty()) return variables;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const NodeId id{i};
    if (is_variable(graph, id) && names.contains(name_of_variable(graph.node(id)))) variables.push_back(id);
  }
  return variables;
}

}  // namespace argosy
