#include "argosy/passes/prune/constant_folding.h"

#include <algorithm>
#include <optional>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/evaluate.h"
#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;
constexpr double kMaxFlops = 1e6;

class ConstantFolder {
 public:
  explicit ConstantFolder(StepGraph& step) : graph_(step.graph), step_(step) {}

  Result<int> run() {
    ARGOSY_ASSIGN_OR_RETURN(order_, step_.graph.topological_order());
    const std::vector<NodeId>& order = order_;
    if (has_op(graph_, [](const OpDef& op) { return op.flow == Flow::kSwitch; })) find_maybe_dead(order);
    int folded = 0;
    computed_.assign(static_cast<std::size_t>(graph_.size()), 1);
    const OpDef* const constant = graph_.ops().find("Const");
    for (const NodeId id : order) {
      check_interrupted();
      computed_[id.index] = graph_.node(id).op != constant ? 1 : 0;
      if (!may_fold(id) || !stays_dead(id)) continue;
      const auto values = compute(id);
      if (!values) continue;
      ARGOSY_RETURN_IF_ERROR(replace(id, *values));
      computed_[id.index] = 0;
      ++folded;
    }
    return folded + free_constants();
  }

 private:
  // Nodes on a branch that may not be taken: what follows a Switch, by data or by control edges.
  void find_maybe_dead(const std::vector<NodeId>& order) {
    maybe_dead_.assign(static_cast<std::size_t>(graph_.size()), 0);
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      bool dead = n.op->flow == Flow::kSwitch;
      for (const Endpoint e : n.inputs) dead = dead || maybe_dead(e.node);
      for (const NodeId c : n.controls) dead = dead || maybe_dead(c);
      maybe_dead_[id.index] = dead ? 1 : 0;
    }
  }
  bool maybe_dead(NodeId id) const {
    return static_cast<std::size_t>(id.index) < maybe_dead_.size() && maybe_dead_[id.index] != 0;
  }

  // A constant that waits is a node of the step: its value is copied in every run. What only effects read, on the way
  // to them, can wait in its place.
  int free_constants() {
    if (has_op(graph_, [](const OpDef& op) { return op.flow != Flow::kNone; })) return 0;
    int freed = 0;
    std::optional<Graph::Uses> uses;
    const OpDef* const constant = graph_.ops().find("Const");
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      if (graph_.node(id).op != constant || graph_.node(id).controls.empty() || is_waited_for(id)) continue;
      if (std::any_of(step_.fetches.begin(), step_.fetches.end(), [id](Endpoint e) { return e.node == id; })) continue;
      if (!uses) uses = graph_.consumers();
      const auto readers = (*uses)[id.index];
      const auto has_effect = [&](NodeId node) {
        return graph_.node(node).op->stateful || graph_.node(node).op->has_ref_input();
      };
      const auto may_wait = [&](const Graph::Use& u) {
        const auto next = (*uses)[u.node.index];
        return has_effect(u.node) || !graph_.node(u.node).controls.empty() ||
               (!next.empty() && std::all_of(next.begin(), next.end(),
                                             [&](const Graph::Use& n) { return n.input < 0 || has_effect(n.node); }));
      };
      if (!std::all_of(readers.begin(), readers.end(), may_wait)) continue;
      const std::vector<NodeId> controls = graph_.node(id).controls;
      for (const Graph::Use& u : readers) {
        for (const NodeId c : controls) graph_.add_control_input(u.node, c);
      }
      for (const NodeId c : controls) graph_.remove_control_input(id, c);
      ++freed;
    }
    return freed;
  }

  // Before the first change: what folds reads constants only, and those read nothing.
  const Graph::Uses& uses() {
    if (!uses_) uses_ = graph_.consumers();
    return *uses_;
  }

  // A constant is never dead. So what may be dead becomes one only where all who take it are dead with something else,
  // and nobody waits for it: zeros that one branch gives to a Merge must not be there when the other is taken.
  bool stays_dead(NodeId id) {
    if (!maybe_dead(id)) return true;
    const auto fetched = [id](Endpoint e) { return e.node == id; };
    if (std::any_of(step_.fetches.begin(), step_.fetches.end(), fetched)) return false;
    for (const Graph::Use& use : uses()[id.index]) {
      const Node& user = graph_.node(use.node);
      if (use.input < 0 || user.op->flow == Flow::kMerge) return false;
      const bool otherwise =
          std::any_of(user.inputs.begin(), user.inputs.end(),
                      [&](Endpoint e) { return e.node != id && maybe_dead(e.node); }) ||
          std::any_of(user.controls.begin(), user.controls.end(), [&](NodeId c) { return c != id && maybe_dead(c); });
      if (!otherwise) return false;
    }
    return true;
  }

  bool may_fold(NodeId id) const {
    const Node& n = graph_.node(id);
    return !n.op->stateful && !n.op->opens_files && n.op->flow == Flow::kNone && !n.op->async &&
           n.op->name != "Const" && n.controls.empty() && !n.output_dtypes.empty() && !n.op->has_ref_input() &&
           std::none_of(n.output_dtypes.begin(), n.output_dtypes.end(),
                        [](DType d) { return d == DType::kResource || d == DType::kVariant; });
  }

  // All outputs, or nothing.
  std::optional<std::vector<Tensor>> compute(NodeId id) const {
    const Node& n = graph_.node(id);
    if (auto known = from_known_ints(id)) return known;
    if (auto known = from_rows(id)) return known;
    if (auto known = from_shape(id)) return known;
    const auto is_computed = [&](Endpoint e) {
      return static_cast<std::size_t>(e.node.index) < computed_.size() && computed_[e.node.index] != 0;
    };
    if (n.inputs.empty() || std::any_of(n.inputs.begin(), n.inputs.end(), is_computed)) return std::nullopt;
    std::vector<Tensor> inputs;
    for (const Endpoint e : n.inputs) {
      const Tensor* value = graph_.constant(e);
      if (value == nullptr) return std::nullopt;
      inputs.push_back(*value);
    }
    if (too_costly(n, inputs)) return std::nullopt;
    auto outputs = evaluate_op(*n.op, n.attrs, inputs, {.reference = true});
    // An error is left to the step that meets it: it may never run.
    if (!outputs.ok()) return std::nullopt;
    for (const Tensor& t : *outputs) {
      if (static_cast<std::int64_t>(t.bytes()) > kMaxBytes) return std::nullopt;
    }
    return *std::move(outputs);
  }

  // Shape, Size, Rank and what is computed from them.
  std::optional<std::vector<Tensor>> from_known_ints(NodeId id) const {
    const Node& n = graph_.node(id);
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < n.output_dtypes.size(); ++i) {
      const PartialInts* known = graph_.known_ints({id, static_cast<std::int32_t>(i)});
      const PartialShape& shape = n.output_shapes[i];
      if (known == nullptr || !shape.is_full() || shape.elements() != static_cast<std::int64_t>(known->size()) ||
          std::find(known->begin(), known->end(), std::nullopt) != known->end()) {
        return std::nullopt;
      }
      Tensor t = Tensor::zeros(n.output_dtypes[i], shape.full().value());
      for (std::size_t k = 0; k < known->size(); ++k) {
        if (t.dtype() == DType::kInt32) {
          t.data<std::int32_t>()[k] = static_cast<std::int32_t>(*(*known)[k]);
        } else {
          t.data<std::int64_t>()[k] = *(*known)[k];
        }
      }
      outputs.push_back(std::move(t));
    }
    return outputs;
  }

  // _ShardWeight counts the rows of a batch and looks at none of them.
  std::optional<std::vector<Tensor>> from_rows(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->name != "_ShardWeight") return std::nullopt;
    const PartialShape& batch = graph_.shape(n.inputs[0]);
    if (!batch.has_rank() || batch.rank() == 0 || batch[0] < 0) return std::nullopt;
    auto outputs =
        evaluate_op(*n.op, n.attrs, {Tensor::zeros(graph_.dtype(n.inputs[0]), {batch[0], 0})}, {.reference = true});
    return outputs.ok() ? std::optional(*std::move(outputs)) : std::nullopt;
  }

  // Does an effect come before the node? Of nodes that are there from the start.
  bool has_effects_above(NodeId id) const {
    if (effects_above_.empty()) {
      effects_above_.assign(static_cast<std::size_t>(graph_.size()), 1);
      for (const NodeId at : order_) {
        const Node& n = graph_.node(at);
        const bool draws = n.op->attr("seed") != nullptr, holds = n.inputs.empty();
        char found = n.op->async || n.op->flow != Flow::kNone || (n.op->has_ref_input() && !n.op->forwards) ||
                     (n.op->stateful && !draws && !holds && !n.op->forwards);
        for (const Endpoint e : n.inputs) found |= above(e.node);
        for (const NodeId c : n.controls) found |= above(c);
        effects_above_[static_cast<std::size_t>(at.index)] = found;
      }
    }
    return above(id) != 0;
  }
  char above(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < effects_above_.size() ? effects_above_[i] : 0;  // made here: a constant
  }

  // Ones and zeros like a small tensor: where a gradient begins.
  std::optional<std::vector<Tensor>> from_shape(NodeId id) const {
    constexpr std::int64_t kFew = 256;
    const Node& n = graph_.node(id);
    if (n.op->name != "OnesLike" && n.op->name != "ZerosLike") return std::nullopt;
    const PartialShape& shape = n.output_shapes[0];
    if (!shape.is_full() || shape.elements() > kFew || !is_plain(n.output_dtypes[0])) return std::nullopt;
    if (has_effects_above(n.inputs[0].node)) return std::nullopt;  // whoever asks for it alone wants those
    auto outputs =
        evaluate_op(*n.op, n.attrs, {Tensor::zeros(n.output_dtypes[0], shape.full().value())}, {.reference = true});
    return outputs.ok() ? std::optional(*std::move(outputs)) : std::nullopt;
  }

  bool too_costly(const Node& n, const std::vector<Tensor>& inputs) const {
    std::vector<DType> dtypes;
    std::vector<PartialShape> shapes;
    std::vector<const PartialShape*> pointers;
    for (const Tensor& t : inputs) {
      dtypes.push_back(t.dtype());
      shapes.emplace_back(t.shape());
    }
    for (const PartialShape& s : shapes) pointers.push_back(&s);
    const std::vector<const PartialInts*> ints(inputs.size(), nullptr);
    std::vector<PartialShape> outputs = n.output_shapes;
    const ShapeContext context(*n.op, n.attrs, dtypes, pointers, ints, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int64_t elements = outputs[i].elements();
      if (elements > kMaxBytes / static_cast<std::int64_t>(std::max<std::size_t>(1, element_bytes(n.output_dtypes[i]))))
        return true;
    }
    return n.op->cost(context).flops > kMaxFlops;
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
  bool is_waited_for(NodeId id) const {
    const auto itself = [id](Endpoint e) { return e.node == id && e.index == Value::kControl; };
    return graph_.may_be_waited_for(id) || std::any_of(step_.fetches.begin(), step_.fetches.end(), itself) ||
           std::find(step_.targets.begin(), step_.targets.end(), id) != step_.targets.end();
  }
  bool is_pivot(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->name == "Identity") return graph_.node(n.inputs[0].node).op->flow != Flow::kNone;
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
  std::optional<Graph::Uses> uses_;
  std::vector<char> maybe_dead_;  // by node; empty without branches
  std::vector<NodeId> order_;
  mutable std::vector<char> effects_above_;  // by node; empty where nobody asked
  std::vector<char> computed_;  // by node, none of those added here: surely no constant. Read in place of the nodes.
};

}  // namespace

Result<int> fold_constants(StepGraph& step) { return ConstantFolder(step).run(); }

}  // namespace argosy
