#include "argosy/passes/fuse/fuse_batch_norm.h"

#include <algorithm>
#include <optional>

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/fuse/hidden_waits.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

class BatchNormFuser {
 public:
  explicit BatchNormFuser(StepGraph& step) : graph_(step.graph), step_(step), users_(step), hidden_(graph_) {}

  Result<int> run() {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<NodeId> order, step_.graph.topological_order());
    rank_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) rank_[static_cast<std::size_t>(order[i].index)] = i;
    // In order, so that the inputs of a node made here are never replaced later.
    for (const NodeId id : order) {
      if (fits(id, Opcode::kBatchNorm)) ARGOSY_RETURN_IF_ERROR(fuse_forward(id));
    }
    if (taken_ == 0) return 0;
    users_.refresh();
    for (const NodeId id : order) {
      if (fits(id, Opcode::kBatchNormGrad)) ARGOSY_RETURN_IF_ERROR(fuse_gradient(id));
    }
    return taken_;
  }

 private:
  // In the one form that the fused kernels are for.
  bool fits(NodeId id, Opcode op) const {
    const Node& n = graph_.node(id);
    if (n.op->opcode != op) return false;
    const DType dtype = n.output_dtypes[0];
    return (dtype == DType::kFloat32 || dtype == DType::kBfloat16) && n.attrs.get_string("data_format") == "NHWC" &&
           n.attrs.get_bool("is_training");
  }

  // The one reader of output 0, when that is all that is done with it.
  std::optional<NodeId> only_reader(NodeId id) const {
    std::optional<NodeId> reader;
    for (const Graph::Use& u : users_[id]) {
      if (u.input < 0 || graph_.node(u.node).inputs[static_cast<std::size_t>(u.input)].index != 0) continue;
      if (reader) return std::nullopt;
      reader = u.node;
    }
    if (!reader || graph_.node(*reader).device != graph_.node(id).device || !graph_.node(*reader).controls.empty())
      return std::nullopt;
    return reader;
  }
  bool is_fetched(NodeId id, std::int32_t output) const {
    return std::find(step_.fetches.begin(), step_.fetches.end(), Endpoint{id, output}) != step_.fetches.end();
  }
  bool is(NodeId id, Opcode op) const { return graph_.node(id).op->opcode == op; }

  // What a sum adds to `norm`, if it has the same shape and surely does not depend on it.
  std::optional<Endpoint> side_of(NodeId sum, NodeId norm) const {
    const Node& n = graph_.node(sum);
    if (n.op->opcode != Opcode::kAdd || hidden_.any()) return std::nullopt;
    if (n.output_dtypes[0] != DType::kFloat32) return std::nullopt;  // the sum would be rounded once, not twice
    const Endpoint side = n.inputs[n.inputs[0].node == norm ? 1 : 0];
    const PartialShape& shape = graph_.shape(side);
    if (side.node == norm || !shape.is_full() || !(shape == graph_.shape({norm, 0}))) return std::nullopt;
    // Nodes made here so far have no place; they stand for earlier ones.
    const auto place = static_cast<std::size_t>(side.node.index);
    if (place < rank_.size() && rank_[place] > rank_[static_cast<std::size_t>(norm.index)]) return std::nullopt;
    return graph_.node(side.node).output_is_ref(side.index) ? std::nullopt : std::optional(side);
  }

  Status fuse_forward(NodeId norm) {
    if (is_fetched(norm, 0)) return ok_status();
    auto last = only_reader(norm);
    if (!last) return ok_status();
    std::optional<Endpoint> side;
    if (!is(*last, Opcode::kRelu)) {
      side = side_of(*last, norm);
      const auto sum = last;
      if (!side || !users_.single_user(*sum)) return ok_status();
      last = only_reader(*sum);
      if (!last || !is(*last, Opcode::kRelu)) return ok_status();
    }
    const Node& n = graph_.node(norm);
    NodeSpec spec{.name = graph_.unique_name(str_cat(graph_.node(*last).name, "/fused")),
                  .op = "_FusedBatchNormEx",
                  .inputs = n.inputs,
                  .controls = n.controls,
                  .device = n.device};
    for (const char* name : {"T", "epsilon", "exponential_avg_factor", "is_training"}) {
      if (const AttrValue* value = n.attrs.find(name)) spec.attrs.set(name, *value);
    }
    spec.attrs.set("activation_mode", graph_.node(*last).op->name);
    if (side) spec.inputs.push_back(*side);
    spec.attrs.set("num_side_inputs", std::int64_t{side ? 1 : 0});
    ARGOSY_ASSIGN_OR_RETURN(const NodeId fused, add(std::move(spec)));
    for (const Graph::Use& u : users_[norm]) {
      if (u.input >= 0) {
        const std::int32_t output = graph_.node(u.node).inputs[static_cast<std::size_t>(u.input)].index;
        if (output > 0) graph_.set_input(u.node, u.input, {fused, output});
      } else {
        graph_.add_control_input(u.node, fused);
      }
    }
    move_readers(*last, fused);
    for (Endpoint& fetch : step_.fetches) {
      if (fetch.node == norm) fetch.node = fused;
    }
    for (NodeId& target : step_.targets) {
      if (target == norm) target = fused;
    }
    taken_ += side ? 2 : 1;
    return ok_status();
  }

  // gradient: FusedBatchNormGrad(ReluGrad(dy, y), x, scale, mean, variance), y being a fused node's result.
  Status fuse_gradient(NodeId gradient) {
    const Node& n = graph_.node(gradient);
    const auto relu = users_.absorbable_input(gradient, 0, Opcode::kReluGrad);
    if (!relu) return ok_status();
    const Endpoint y = graph_.node(*relu).inputs[1];
    const Node& forward = graph_.node(y.node);
    if (forward.op->opcode != Opcode::kFusedBatchNorm || y.index != 0 ||
        forward.attrs.get_int("num_side_inputs") != 0 || n.inputs[1] != forward.inputs[0] ||
        n.inputs[2] != forward.inputs[1] || n.inputs[3] != Endpoint{y.node, 3} || n.inputs[4] != Endpoint{y.node, 4} ||
        n.attrs.get_float("epsilon") != forward.attrs.get_float("epsilon")) {
      return ok_status();
    }
    NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, "/fused")),
                  .op = "_FusedBatchNormGradEx",
                  .inputs = {graph_.node(*relu).inputs[0], n.inputs[1], n.inputs[2], n.inputs[3], n.inputs[4],
                             Endpoint{y.node, 5}, forward.inputs[2], y},
                  .controls = n.controls,
                  .device = n.device};
    for (const char* name : {"T", "epsilon", "is_training"}) spec.attrs.set(name, *n.attrs.find(name));
    spec.attrs.set("activation_mode", *forward.attrs.find("activation_mode"));
    spec.attrs.set("num_side_inputs", std::int64_t{0});
    ARGOSY_ASSIGN_OR_RETURN(const NodeId fused, add(std::move(spec)));
    move_readers(gradient, fused);
    ++taken_;
    return ok_status();
  }

  Result<NodeId> add(NodeSpec spec) {
    const OpDef* op = graph_.ops().find(spec.op);
    if (op == nullptr) return internal_error("the registry has no ", spec.op);
    std::vector<DType> dtypes;
    for (const Endpoint e : spec.inputs) dtypes.push_back(graph_.dtype(e));
    ARGOSY_RETURN_IF_ERROR(complete_attrs(*op, dtypes, spec.attrs));
    return graph_.add_node(std::move(spec));
  }

  // Whoever reads an output of `old` reads the same one of `fresh`.
  void move_readers(NodeId old, NodeId fresh) {
    for (const Graph::Use& u : users_[old]) {
      if (u.input >= 0) {
        const std::int32_t output = graph_.node(u.node).inputs[static_cast<std::size_t>(u.input)].index;
        graph_.set_input(u.node, u.input, {fresh, output});
      } else {
        graph_.add_control_input(u.node, fresh);
      }
    }
    for (Endpoint& fetch : step_.fetches) {
      if (fetch.node == old) fetch.node = fresh;
    }
    for (NodeId& target : step_.targets) {
      if (target == old) target = fresh;
    }
  }

  Graph& graph_;
  StepGraph& step_;
  NodeUsers users_;
  const HiddenWaits hidden_;       // it may wait for who reads the means
  std::vector<std::size_t> rank_;  // by node: its place in a topological order
  int taken_ = 0;
};

}  // namespace

Result<int> fuse_batch_norm(StepGraph& step) {
  if (step.graph.ops().find("_FusedBatchNormEx") == nullptr) return 0;
  if (!has_op(step.graph, [](const OpDef& op) { return op.opcode == Opcode::kBatchNorm; })) return 0;
  return BatchNormFuser(step).run();
}

}  // namespace argosy
