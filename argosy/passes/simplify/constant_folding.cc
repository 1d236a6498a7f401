#include "argosy/passes/simplify/constant_folding.h"

#include <algorithm>
#include <optional>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"
#include "argosy/passes/simplify/flow_scopes.h"
#include "argosy/passes/simplify/known_values.h"
#include "argosy/passes/simplify/size_only_effects.h"

namespace argosy {

namespace {

class ConstantFolder {
 public:
  ConstantFolder(StepGraph& step, const std::vector<NodeId>& order)
      : graph_(step.graph), step_(step), order_(order), preserved_(step), scopes_(graph_, order) {}

  Result<int> run() {
    KnownValues known(graph_);
    const SizeOnlyEffects effects(step_, order_, known);
    int folded = 0;
    for (const NodeId id : order_) {
      check_interrupted();
      if (!known.visit(id) || !known.may_be_constant(id) || effects.lost_without(id)) continue;
      if (scopes_.of(id) != FlowScopes::kRoot && !stays_in_scope(id)) continue;
      const auto values = known.compute(id);
      if (!values || outlives_turn(id, *values)) continue;
      const std::vector<NodeId> waits = waited_for(id);
      ARGOSY_RETURN_IF_ERROR(replace(id, *values, waits));
      known.set_constant(id);
      scopes_.move(id, scopes_.of_waits(waits));  // else two constants would each rely on the other one to be dead
      ++folded;
    }
    return folded;
  }

 private:
  // Before the first change: what folds reads constants only, and those read nothing.
  const Graph::Uses& uses() {
    if (!uses_) uses_ = graph_.consumers();
    return *uses_;
  }

  // A constant is dead, and runs in iterations, as what it waits for. Where that is less than the node, each reader must
  // be so by something else, and nobody may wait for it. Else zeros that one branch gives to a Merge were there when the
  // other is taken, and an update of a loop's body would not run once in each iteration.
  bool stays_in_scope(NodeId id) {
    const FlowScopes::Scope scope = scopes_.of(id);
    if (scopes_.within(scopes_.of_waits(waited_for(id)), scope)) return true;
    // Zeros like a value of an iteration may be all that ties a sum to its loop.
    if (graph_.node(id).op->reads == Reads::kShape || preserved_.is_fetched(id)) return false;
    for (const Graph::Use& use : uses()[id.index]) {
      const Node& user = graph_.node(use.node);
      if (use.input < 0 || user.op->flow == Flow::kMerge) return false;
      const bool otherwise =
          std::any_of(user.inputs.begin(), user.inputs.end(),
                      [&](Endpoint e) { return e.node != id && scopes_.within(scopes_.of(e), scope); }) ||
          std::any_of(user.controls.begin(), user.controls.end(),
                      [&](NodeId c) { return c != id && scopes_.within(scopes_.of(c), scope); });
      if (!otherwise) return false;
    }
    return true;
  }

  // A constant stays for good, one of each turn. What a turn computes goes when the turn ends.
  bool outlives_turn(NodeId id, const std::vector<Tensor>& values) const {
    constexpr std::size_t kSmall = 4096;
    if (Turn::of(graph_.node(id).attrs).number < 0) return false;
    return std::any_of(values.begin(), values.end(), [](const Tensor& t) { return t.bytes() > kSmall; });
  }

  // What the node's constants wait for, it waits for: a constant may be all that ties an effect to a result, to a branch
  // or to an iteration of a loop.
  std::vector<NodeId> waited_for(NodeId id) const {
    std::vector<NodeId> controls;
    for (const Endpoint e : graph_.node(id).inputs) {
      if (graph_.constant(e) == nullptr) continue;
      for (const NodeId c : graph_.node(e.node).controls) {
        if (std::find(controls.begin(), controls.end(), c) == controls.end()) controls.push_back(c);
      }
    }
    return controls;
  }
  // By who wants the node itself to have run, be its value known or not.
  bool is_waited_for(NodeId id) const { return graph_.may_be_waited_for(id) || preserved_.must_run(id); }

  Status replace(NodeId id, const std::vector<Tensor>& values, const std::vector<NodeId>& controls) {
    if (values.size() == 1 && !is_waited_for(id)) {
      return graph_.replace_with(id, "Const", {}, controls, {{"value", values[0]}, {"dtype", values[0].dtype()}});
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      NodeSpec spec{.name = graph_.unique_name(str_cat(graph_.node(id).name, "/folded")),
                    .op = "Const",
                    .controls = controls,
                    .attrs = {{"value", values[i]}, {"dtype", values[i].dtype()}},
                    .device = graph_.node(id).device};
      ARGOSY_ASSIGN_OR_RETURN(const NodeId constant, graph_.add_node(std::move(spec)));
      const Endpoint from{id, static_cast<std::int32_t>(i)};
      for (const Graph::Use& u : uses()[id.index]) {
        if (u.input >= 0 && graph_.node(u.node).inputs[u.input] == from)
          graph_.set_input(u.node, u.input, {constant, 0});
      }
      for (Endpoint& fetch : step_.fetches) {
        if (fetch == from) fetch = {constant, 0};
      }
    }
    return ok_status();
  }

  Graph& graph_;
  StepGraph& step_;
  const std::vector<NodeId>& order_;
  const PreservedNodes preserved_;
  FlowScopes scopes_;
  std::optional<Graph::Uses> uses_;
};

// A constant that waits is a node of the step: its value is copied in every run. What only effects read, on the way
// to them, can wait in its place.
int free_constants(StepGraph& step) {
  Graph& graph = step.graph;
  if (has_op(graph, [](const OpDef& op) { return op.flow != Flow::kNone; })) return 0;
  int freed = 0;
  std::optional<Graph::Uses> uses;
  const PreservedNodes preserved(step);
  const OpDef* const constant = graph.ops().find("Const");
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const NodeId id{i};
    if (graph.node(id).op != constant || graph.node(id).controls.empty()) continue;
    if (graph.may_be_waited_for(id) || preserved.contains(id)) continue;
    if (!uses) uses = graph.consumers();
    const auto readers = (*uses)[id.index];
    const auto has_effect = [&](NodeId node) {
      return graph.node(node).op->stateful || graph.node(node).op->has_ref_input();
    };
    const auto may_wait = [&](const Graph::Use& u) {
      const auto next = (*uses)[u.node.index];
      return has_effect(u.node) || !graph.node(u.node).controls.empty() ||
             (!next.empty() && std::all_of(next.begin(), next.end(),
                                           [&](const Graph::Use& n) { return n.input < 0 || has_effect(n.node); }));
    };
    if (!std::all_of(readers.begin(), readers.end(), may_wait)) continue;
    const std::vector<NodeId> controls = graph.node(id).controls;
    for (const Graph::Use& u : readers) {
      for (const NodeId c : controls) graph.add_control_input(u.node, c);
    }
    for (const NodeId c : controls) graph.remove_control_input(id, c);
    ++freed;
  }
  return freed;
}

}  // namespace

Result<int> fold_constants(StepGraph& step) {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, step.graph.topological_order());
  ARGOSY_ASSIGN_OR_RETURN(const int folded, ConstantFolder(step, order).run());
  return folded + free_constants(step);
}

}  // namespace argosy
