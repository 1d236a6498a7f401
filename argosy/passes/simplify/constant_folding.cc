#include "argosy/passes/simplify/constant_folding.h"

#include <algorithm>
#include <optional>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"
#include "argosy/passes/simplify/known_values.h"
#include "argosy/passes/simplify/size_only_effects.h"

namespace argosy {

namespace {

// Nodes behind control flow of a kind, by data or by control edges. Of Switch: on a branch that may not be taken.
class BehindFlow {
 public:
  using IsMeant = bool (*)(Flow);
  BehindFlow(const Graph& graph, const std::vector<NodeId>& order, IsMeant is_meant) {
    const bool any =
        std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return is_meant(n.op->flow); });
    if (!any) return;
    behind_.assign(static_cast<std::size_t>(graph.size()), 0);
    for (const NodeId id : order) {
      const Node& n = graph.node(id);
      bool behind = is_meant(n.op->flow);
      for (const Endpoint e : n.inputs) behind = behind || contains(e.node);
      for (const NodeId c : n.controls) behind = behind || contains(c);
      behind_[static_cast<std::size_t>(id.index)] = behind ? 1 : 0;
    }
  }
  // It became a constant.
  void forget(NodeId id) {
    if (contains(id)) behind_[static_cast<std::size_t>(id.index)] = 0;
  }
  bool contains(NodeId id) const {
    return static_cast<std::size_t>(id.index) < behind_.size() && behind_[static_cast<std::size_t>(id.index)] != 0;
  }

 private:
  std::vector<char> behind_;  // by node; empty without such control flow
};

class ConstantFolder {
 public:
  ConstantFolder(StepGraph& step, const std::vector<NodeId>& order)
      : graph_(step.graph),
        step_(step),
        order_(order),
        preserved_(step),
        maybe_dead_(graph_, order, [](Flow flow) { return flow == Flow::kSwitch; }),
        behind_any_(graph_, order, [](Flow flow) { return flow != Flow::kNone; }) {}

  Result<int> run() {
    KnownValues known(graph_);
    const SizeOnlyEffects effects(step_, order_, known);
    int folded = 0;
    for (const NodeId id : order_) {
      check_interrupted();
      if (!known.visit(id) || !known.may_be_constant(id) || !stays_dead(id) || effects.lost_without(id)) continue;
      const auto values = known.compute(id);
      if (!values || outlives_turn(id, *values)) continue;
      ARGOSY_RETURN_IF_ERROR(replace(id, *values));
      known.set_constant(id);
      maybe_dead_.forget(id);  // else two constants would each rely on the other one to be dead
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

  // A constant is never dead. So what may be dead becomes one only where all who take it are dead with something else,
  // and nobody waits for it: zeros that one branch gives to a Merge must not be there when the other is taken.
  bool stays_dead(NodeId id) {
    // Zeros like a value of an iteration may be all that ties a sum to its loop.
    if (graph_.node(id).op->reads == Reads::kShape && behind_any_.contains(id)) return false;
    if (!maybe_dead_.contains(id)) return true;
    if (preserved_.is_fetched(id)) return false;
    for (const Graph::Use& use : uses()[id.index]) {
      const Node& user = graph_.node(use.node);
      if (use.input < 0 || user.op->flow == Flow::kMerge) return false;
      const bool otherwise = std::any_of(user.inputs.begin(), user.inputs.end(),
                                         [&](Endpoint e) { return e.node != id && maybe_dead_.contains(e.node); }) ||
                             std::any_of(user.controls.begin(), user.controls.end(),
                                         [&](NodeId c) { return c != id && maybe_dead_.contains(c); });
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

  // What the node's constants wait for, it waits for: a constant may be all that ties an effect to a result. Pivots of
  // branches and loops are no effects: see stays_dead().
  std::vector<NodeId> waited_for(NodeId id) const {
    std::vector<NodeId> controls;
    for (const Endpoint e : graph_.node(id).inputs) {
      for (const NodeId c : graph_.node(e.node).controls) {
        if (graph_.constant(e) == nullptr || is_pivot(c)) continue;
        if (std::find(controls.begin(), controls.end(), c) == controls.end()) controls.push_back(c);
      }
    }
    return controls;
  }
  // By who wants the node itself to have run, be its value known or not.
  bool is_waited_for(NodeId id) const { return graph_.may_be_waited_for(id) || preserved_.must_run(id); }
  bool is_pivot(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->opcode == Opcode::kIdentity) return graph_.node(n.inputs[0].node).op->flow != Flow::kNone;
    return n.op->flow != Flow::kNone && n.op->flow != Flow::kControlTrigger;
  }

  Status replace(NodeId id, const std::vector<Tensor>& values) {
    const std::vector<NodeId> controls = waited_for(id);
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
  BehindFlow maybe_dead_;
  const BehindFlow behind_any_;
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
