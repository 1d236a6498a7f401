#include "argosy/passes/simplify/handle_waits.h"

#include <algorithm>
#include <vector>

#include "argosy/graph/makes_handle.h"

namespace argosy {

namespace {

bool waits(const Node& n) { return !n.controls.empty() && makes_handle(n); }

// Makes all users of the handle, the step among them, use `wait`.
void redirect(StepGraph& step, const Graph::Uses& uses, NodeId handle, NodeId wait) {
  for (const Graph::Use& use : uses[handle.index]) {
    if (use.input < 0) {
      step.graph.replace_control_input(use.node, handle, wait);
    } else {
      step.graph.set_input(use.node, use.input, {wait, 0});
    }
  }
  for (Endpoint& e : step.fetches) {
    if (e.node == handle) e.node = wait;
  }
  std::replace(step.targets.begin(), step.targets.end(), handle, wait);
}

}  // namespace

Result<int> move_handle_waits(StepGraph& step) {
  Graph& graph = step.graph;
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), waits)) return 0;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const auto uses = graph.consumers();
  int moved = 0;
  for (const NodeId id : order) {
    if (!waits(graph.node(id))) continue;
    const std::vector<NodeId> all(graph.node(id).controls.begin(), graph.node(id).controls.end());
    std::vector<NodeId> kept;
    for (const NodeId c : all) {
      graph.remove_control_input(id, c);
      if (!makes_handle(graph.node(c))) kept.push_back(c);  // handles are there before the step
    }
    ++moved;
    if (kept.empty()) continue;
    const Node& n = graph.node(id);
    NodeSpec spec{.name = graph.unique_name(str_cat(n.name, "/wait")),
                  .op = "Identity",
                  .inputs = {{id, 0}},
                  .controls = kept,
                  .attrs = {{"T", n.output_dtypes[0]}},
                  .device = std::string(n.device),
                  .shapes = {n.output_shapes[0]}};
    if (n.output_is_ref(0)) spec.op = "RefIdentity";
    ARGOSY_ASSIGN_OR_RETURN(const NodeId wait, graph.add_node(std::move(spec)));
    redirect(step, uses, id, wait);
  }
  return moved;
}

}  // namespace argosy
