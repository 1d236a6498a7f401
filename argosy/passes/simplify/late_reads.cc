#include "argosy/passes/simplify/late_reads.h"

#include <algorithm>
#include <utility>

#include "argosy/base/str.h"
#include "argosy/passes/simplify/ref_reads.h"

namespace argosy {

Result<bool> LateReads::make_late(const Graph::Use& use, bool may_grow) {
  const Endpoint value = graph_.node(use.node).inputs[use.input];
  const std::vector<Endpoint> views = views_of(value);
  // A twin would check again, or print again.
  const bool has_effect =
      std::any_of(views.begin(), views.end(), [&](Endpoint v) { return graph_.node(v.node).op->stateful; });
  const bool again = may_grow || has_effect;
  // "_ReadAgain" knows neither parts of the variable nor other dtypes.
  if (again && std::any_of(views.begin(), views.end(), [&](Endpoint v) {
        const Node& n = graph_.node(v.node);
        return n.op->view != nullptr || graph_.dtype(v) != graph_.dtype(n.inputs[0]);
      })) {
    return false;
  }
  ARGOSY_ASSIGN_OR_RETURN(Endpoint now, reference(value));
  if (again) {
    ARGOSY_ASSIGN_OR_RETURN(const NodeId node, add_read_again(use, value, now));
    graph_.set_input(use.node, use.input, {node, 0});
    return true;
  }
  // It may wait for others, or fail.
  const bool may_wait = graph_.node(value.node).op->flow == Flow::kNone;
  if (views.empty()) {
    graph_.set_input(use.node, use.input, now);
    if (may_wait) graph_.add_control_input(use.node, value.node);
    return true;
  }
  std::vector<NodeId> waits = waits_of(use);
  if (may_wait) waits.push_back(value.node);
  for (const Endpoint view : views) {
    ARGOSY_ASSIGN_OR_RETURN(now.node, add_view(view.node, now, std::exchange(waits, {})));
    now.index = view.index;
  }
  graph_.set_input(use.node, use.input, now);
  return true;
}

// Returns the reads from the variable to `value`, in that order, without identities.
std::vector<Endpoint> LateReads::views_of(Endpoint value) const {
  std::vector<Endpoint> views;
  for (; !graph_.node(value.node).output_is_ref(value.index); value = graph_.node(value.node).inputs[0]) {
    const Node& n = graph_.node(value.node);
    if (n.op->flow == Flow::kNone && !is_identity(n)) views.push_back(value);
  }
  std::reverse(views.begin(), views.end());
  return views;
}

// The variable that this is a read of, where the read is: in the same branch, in the same loop.
Result<Endpoint> LateReads::reference(Endpoint value) {
  if (graph_.node(value.node).output_is_ref(value.index)) return value;
  const Endpoint from = graph_.node(value.node).inputs[0];
  ARGOSY_ASSIGN_OR_RETURN(const Endpoint variable, reference(from));
  const Node& n = graph_.node(value.node);
  if (n.op->flow == Flow::kNone) return variable;
  const auto [twin, is_new] = twins_.try_emplace(value.node.index);
  if (is_new) {
    NodeSpec spec = {.name = graph_.unique_name(str_cat(n.name, "/ref")), .op = "Ref" + n.op->name};
    spec.inputs.assign(n.inputs.begin(), n.inputs.end());
    spec.inputs[0] = variable;
    spec.controls.assign(n.controls.begin(), n.controls.end());
    if (variable != from && graph_.node(from.node).op->flow == Flow::kNone) spec.controls.push_back(from.node);
    spec.attrs = n.attributes();
    spec.attrs.set("T", graph_.dtype(variable));
    spec.device = std::string(n.device);
    ARGOSY_ASSIGN_OR_RETURN(twin->second, graph_.add_node(std::move(spec)));
  }
  return Endpoint{twin->second, value.index};
}

// The same view of another value.
Result<NodeId> LateReads::add_view(NodeId view, Endpoint of, std::vector<NodeId> waits) {
  const Node& n = graph_.node(view);
  NodeSpec spec = {.name = graph_.unique_name(str_cat(n.name, "/again")), .op = n.op->name};
  spec.inputs.assign(n.inputs.begin(), n.inputs.end());
  spec.inputs[0] = of;
  spec.controls = std::move(waits);
  spec.attrs = n.attributes();
  spec.device = std::string(n.device);
  return graph_.add_node(std::move(spec));
}

// Reads the variable just before the user does.
Result<NodeId> LateReads::add_read_again(const Graph::Use& use, Endpoint value, Endpoint variable) {
  NodeSpec spec = {.name = graph_.unique_name(str_cat(graph_.node(value.node).name, "/again")), .op = "_ReadAgain"};
  spec.inputs = {value, variable};
  spec.attrs = {{"T", graph_.dtype(value)}};
  spec.controls = waits_of(use);
  spec.device = std::string(graph_.node(use.node).device);
  return graph_.add_node(std::move(spec));
}

// All that the user reads and waits for beside that input.
std::vector<NodeId> LateReads::waits_of(const Graph::Use& use) const {
  const Node& user = graph_.node(use.node);
  std::vector<NodeId> waits(user.controls.begin(), user.controls.end());
  for (int k = 0; k < std::ssize(user.inputs); ++k) {
    if (k != use.input) waits.push_back(user.inputs[static_cast<std::size_t>(k)].node);
  }
  return waits;
}

}  // namespace argosy
