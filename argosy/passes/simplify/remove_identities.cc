#include "argosy/passes/simplify/remove_identities.h"

#include <algorithm>
#include <optional>

#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"
#include "argosy/passes/simplify/flow_scopes.h"
#include "argosy/passes/simplify/size_only_effects.h"

namespace argosy {

namespace {

bool may_go(const Graph& graph, NodeId id, const FlowScopes& scopes) {
  const Node& n = graph.node(id);
  if (!n.controls.empty()) return false;
  // Sizes or axes may be all that ties what reads the node to a branch, or to an iteration of a loop.
  if (!scopes.within(scopes.of(n.inputs[0]), scopes.of(id))) return false;
  const Node& from = graph.node(n.inputs[0].node);
  return !from.output_is_ref(n.inputs[0].index) && (n.device.empty() || n.device == from.device);
}

}  // namespace

Result<int> remove_identities(StepGraph& step) {
  Graph& graph = step.graph;
  if (!has_op(graph, [](const OpDef& op) { return op.identity_when != IdentityWhen::kNever; })) return 0;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, step.graph.topological_order());
  const PreservedNodes preserved(step);
  const FlowScopes scopes(graph, order);
  std::optional<Graph::Uses> uses;         // before the first change
  std::optional<SizeOnlyEffects> effects;  // the same
  int bypassed = 0;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (!changes_nothing(graph, n) || !may_go(graph, id, scopes)) continue;
    if (!uses) {
      uses = graph.consumers();
      effects.emplace(step, order, KnownValues(graph));
    }
    const bool lost =
        std::any_of(n.inputs.begin() + 1, n.inputs.end(), [&](Endpoint e) { return effects->lost_without(e.node); });
    if (lost) continue;
    const auto readers = (*uses)[id.index];
    const bool waited_for =
        std::any_of(readers.begin(), readers.end(), [](const Graph::Use& u) { return u.input < 0; }) ||
        preserved.is_target(id);
    if (waited_for) continue;
    const Endpoint from = n.inputs[0];  // may have been bypassed to already: order is topological
    for (const Graph::Use& u : readers) graph.set_input(u.node, u.input, from);
    for (Endpoint& fetch : step.fetches) {
      if (fetch == Endpoint{id, 0}) fetch = from;
    }
    ++bypassed;
  }
  return bypassed;
}

}  // namespace argosy
