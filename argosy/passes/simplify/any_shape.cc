#include "argosy/passes/simplify/any_shape.h"

#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

constexpr const char* kValidates = "validate_shape";

bool may_validate(const OpDef& op) { return op.has_ref_input() && op.attr(kValidates) != nullptr; }

}  // namespace

bool may_change_shape(const Graph& graph, const Node& writer) {
  const bool* const same = writer.attrs.find_as<bool>(kValidates);
  if (same == nullptr || *same) return false;
  const PartialShape &before = graph.shape(writer.inputs[0]), &after = graph.shape(writer.inputs[1]);
  return !before.is_full() || before != after;
}

std::vector<NodeId> variables_of_any_shape(const Graph& graph) {
  std::vector<NodeId> variables;
  if (!has_op(graph, may_validate)) return variables;
  for (const Node& n : graph.nodes()) {
    if (!may_validate(*n.op) || !may_change_shape(graph, n)) continue;
    constexpr int kMostForwards = 16;  // Switch, Identity, another Assign
    NodeId from = n.inputs[0].node;
    for (int k = 0; k < kMostForwards && !graph.node(from).inputs.empty(); ++k) from = graph.node(from).inputs[0].node;
    if (graph.node(from).inputs.empty()) variables.push_back(from);
  }
  return variables;
}

}  // namespace argosy
