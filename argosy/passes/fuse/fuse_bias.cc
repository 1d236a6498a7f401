#include "argosy/passes/fuse/fuse_bias.h"

#include <algorithm>
#include <optional>

#include "argosy/op/definition/opcode.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

class Fuser {
 public:
  explicit Fuser(StepGraph& step) : graph_(step.graph), users_(step) {}

  Result<int> run() {
    int fused = 0;
    const int size = graph_.size();
    for (int i = 0; i < size; ++i) {
      const NodeId product{i};
      const Node& n = graph_.node(product);
      if (n.op->fused_as.empty()) continue;
      const OpDef* op = graph_.ops().find(n.op->fused_as);
      const DType* type = n.attrs.find_as<DType>("T");
      const AttrDef* allowed = op != nullptr ? op->attr("T") : nullptr;
      if (allowed == nullptr || type == nullptr ||
          std::find(allowed->types.begin(), allowed->types.end(), *type) == allowed->types.end()) {
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(const bool done, try_fuse(product, *op));
      fused += done ? 1 : 0;
    }
    return fused;
  }

 private:
  // The bias, if `id` adds a bias to the product; else nullopt.
  std::optional<Endpoint> bias_of(NodeId id, NodeId product) const {
    const Node& n = graph_.node(id);
    // Both add along the last axis, which is not the channels' in every layout.
    if (graph_.node(product).attrs.get_or<std::string>("data_format", "NHWC") != "NHWC") return std::nullopt;
    if (n.op->opcode == Opcode::kBiasAdd && n.attrs.get_or<std::string>("data_format", "NHWC") == "NHWC") {
      return n.inputs[0].node == product ? std::optional(n.inputs[1]) : std::nullopt;
    }
    if (n.op->opcode != Opcode::kAdd) return std::nullopt;
    const Endpoint other = n.inputs[0].node == product ? n.inputs[1] : n.inputs[0];
    const PartialShape& shape = graph_.shape(other);
    const PartialShape& sum = graph_.shape({product, 0});
    if (other.node == product || shape.rank() != 1 || !sum.has_rank() || sum.rank() < 2 || shape[0] < 0 ||
        shape[0] != sum[sum.rank() - 1]) {
      return std::nullopt;
    }
    return other;
  }

  Result<bool> try_fuse(NodeId product, const OpDef& fused) {
    const auto adder = users_.single_user(product);
    if (!adder) return false;
    const auto bias = bias_of(*adder, product);
    if (!bias || !waits_for_nothing(*adder)) return false;
    std::vector<std::string> ops = {kFusedBias};
    NodeId last = *adder;
    if (const auto next = users_.single_user(last);
        next && can_fuse_activation(graph_.node(*next).op->name) && waits_for_nothing(*next)) {
      ops.push_back(graph_.node(*next).op->name);
      last = *next;
    }
    // The last of them stands for all: it comes after what the others read, and who reads it reads the same.
    const Node& n = graph_.node(product);
    std::vector<Endpoint> inputs = n.inputs;
    inputs.push_back(*bias);
    ARGOSY_ASSIGN_OR_RETURN(AttrMap attrs, attrs_for(fused, inputs, n.attrs, std::move(ops), graph_.node(last)));
    ARGOSY_RETURN_IF_ERROR(graph_.replace_with(last, fused.name, inputs, n.controls, std::move(attrs)));
    graph_.set_colocation(last, n.colocated_with);
    return true;
  }

  // Layer after layer has the same ones.
  Result<AttrMap> attrs_for(const OpDef& fused, const std::vector<Endpoint>& inputs, const AttrMap& product,
                            std::vector<std::string> ops, const Node& last) {
    const Made made{&fused, product, last.op, last.attrs};
    if (made_attrs_ && made_from_.is(made)) return *made_attrs_;
    AttrMap attrs;
    for (const auto& [name, value] : product) {
      if (fused.attr(name) != nullptr || name.starts_with('_')) attrs.set(name, value);
    }
    if (const float* alpha = last.attrs.find_as<float>("alpha")) attrs.set("leakyrelu_alpha", *alpha);
    attrs.set("num_args", std::int64_t{1});
    attrs.set("fused_ops", std::move(ops));
    std::vector<DType> dtypes;
    for (const Endpoint e : inputs) dtypes.push_back(graph_.dtype(e));
    ARGOSY_RETURN_IF_ERROR(complete_attrs(fused, dtypes, attrs));
    made_from_ = made;
    made_attrs_ = attrs;
    return attrs;
  }

  bool waits_for_nothing(NodeId id) const { return graph_.node(id).controls.empty(); }

  // What a fused node's attributes follow from: the product, and the last of the nodes that it takes in.
  struct Made {
    const OpDef* fused = nullptr;
    AttrMap product;
    const OpDef* last = nullptr;
    AttrMap last_attrs;
    bool is(const Made& other) const {
      return fused == other.fused && last == other.last && product == other.product && last_attrs == other.last_attrs;
    }
  };

  Graph& graph_;
  const NodeUsers users_;
  Made made_from_;
  std::optional<AttrMap> made_attrs_;
};

}  // namespace

Result<int> fuse_bias(StepGraph& step) {
  if (!has_op(step.graph, [](const OpDef& op) { return !op.fused_as.empty(); })) return 0;
  return Fuser(step).run();
}

}  // namespace argosy
