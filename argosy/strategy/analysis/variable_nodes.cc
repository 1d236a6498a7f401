#include "argosy/strategy/analysis/variable_nodes.h"

#include <algorithm>

#include "argosy/strategy/analysis/reachability.h"

namespace argosy {

bool is_handle(const Graph& graph, Endpoint e) {
  return e.index >= 0 && (graph.node(e.node).output_is_ref(e.index) || graph.dtype(e) == DType::kResource);
}

// References and handles also point to queues, tables and accumulators. The attributes tell them apart.
bool is_variable(const Node& n) {
  if (!n.op->stateful || !n.inputs.empty() || n.output_dtypes.size() != 1) return false;
  const auto* const dtype = n.attrs.find_as<DType>("dtype");
  if (dtype == nullptr) return false;
  if (n.output_is_ref(0)) return n.output_dtypes[0] == *dtype;
  return n.output_dtypes[0] == DType::kResource && n.attrs.find("reduction_type") == nullptr;
}

bool writes_variable(const Graph& graph, const Node& n) {
  if (n.inputs.empty() || !is_handle(graph, n.inputs[0])) return false;
  if (n.op->flow != Flow::kNone || n.op->step_state) return false;
  const bool takes_ref = !n.op->input_args.empty() && n.op->input_args[0].is_ref;
  if (graph.dtype(n.inputs[0]) == DType::kResource && !takes_ref) {
    return n.op->stateful && (n.output_dtypes.empty() || moves_generator(graph, n));
  }
  if (!takes_ref) return false;
  // CountUpTo changes the variable, too, and gives a number.
  const bool gives_ref = !n.output_dtypes.empty() && n.output_is_ref(0);
  return gives_ref || (n.op->effect == Effect::kChanges && variable_behind(graph, n.inputs[0]).has_value());
}

bool moves_generator(const Graph& graph, const Node& n) {
  if (n.inputs.empty() || n.output_dtypes.empty() || graph.dtype(n.inputs[0]) != DType::kResource) return false;
  return n.op->stateful && n.op->effect == Effect::kChanges && variable_behind(graph, n.inputs[0]).has_value();
}

bool only_looks(const Node& n) { return n.op->effect == Effect::kPrints || n.op->effect == Effect::kChecks; }

bool may_be_repeated(const Node& n) { return n.op->effect != Effect::kChanges; }

bool functions_hold_variables(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) {
    if (n.op->calls != Calls::kNothing) return false;  // their callers are seen
    const bool runs = std::any_of(n.op->attr_defs.begin(), n.op->attr_defs.end(), [](const AttrDef& a) {
      return a.kind == AttrKind::kFunction || a.kind == AttrKind::kFunctions;
    });
    return runs && std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) {
             return is_handle(graph, e) && variable_behind(graph, e).has_value();
           });
  });
}

bool writes_variables(const Graph& graph, const std::vector<NodeId>& run, bool generators) {
  const std::vector<char> used = ancestors(graph, run, true);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const bool writes = writes_variable(graph, n) && (generators || !moves_generator(graph, n));
    if (used[i] && (writes || (n.op->stateful && n.op->calls != Calls::kNothing))) return true;
  }
  return false;
}

std::optional<NodeId> variable_behind(const Graph& graph, Endpoint e) {
  for (int steps = 0; steps < 64; ++steps) {
    const Node& n = graph.node(e.node);
    if (is_variable(n)) return e.node;
    if (n.inputs.empty() || !is_handle(graph, n.inputs[0])) return std::nullopt;
    e = n.inputs[0];
  }
  return std::nullopt;
}

}  // namespace argosy
