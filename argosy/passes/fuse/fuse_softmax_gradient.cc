#include "argosy/passes/fuse/fuse_softmax_gradient.h"

#include <optional>

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

class SoftmaxGradients {
 public:
  SoftmaxGradients(StepGraph& step, const std::function<bool(const std::string&)>& is_async)
      : graph_(step.graph), is_async_(is_async), users_(step) {}

  Result<int> run() {
    int fused = 0;
    const int size = graph_.size();
    for (int i = 0; i < size; ++i) {
      const NodeId last{i};
      const Opcode op = graph_.node(last).op->opcode;
      const auto found = op == Opcode::kMultiply   ? plain(last)
                         : op == Opcode::kSubtract ? logarithmic(last)
                                                   : std::nullopt;
      if (!found || !fits(last, *found)) continue;
      ARGOSY_RETURN_IF_ERROR(replace_with(last, *found));
      ++fused;
    }
    return fused;
  }

 private:
  struct Found {
    Endpoint y, dy;
    bool logarithm = false;
  };

  Endpoint input(NodeId id, int k) const { return graph_.node(id).inputs[static_cast<std::size_t>(k)]; }

  // Does it sum rows, and leave each as one number?
  bool sums_rows(NodeId sum) const {
    const Tensor* const axes = graph_.constant(input(sum, 1));
    const int rank = graph_.shape(input(sum, 0)).rank();
    if (axes == nullptr || axes->elements() != 1 || rank < 1 || !graph_.node(sum).attrs.get_bool("keep_dims")) {
      return false;
    }
    const std::int64_t axis =
        axes->dtype() == DType::kInt64 ? axes->data<std::int64_t>()[0] : axes->data<std::int32_t>()[0];
    return axis == -1 || axis == rank - 1;
  }

  // (dy - sum(dy * y)) * y
  std::optional<Found> plain(NodeId last) const {
    for (const int k : {0, 1}) {
      const auto difference = users_.absorbable_input(last, k, Opcode::kSubtract);
      if (!difference) continue;
      const Endpoint y = input(last, 1 - k), dy = input(*difference, 0);
      const auto sum = users_.absorbable_input(*difference, 1, Opcode::kSum);
      if (!sum || !sums_rows(*sum)) continue;
      const auto product = users_.absorbable_input(*sum, 0, Opcode::kMultiply);
      if (!product) continue;
      const Endpoint a = input(*product, 0), b = input(*product, 1);
      if ((a == y && b == dy) || (a == dy && b == y)) return Found{y, dy};
    }
    return std::nullopt;
  }

  // dy - exp(y) * sum(dy)
  std::optional<Found> logarithmic(NodeId last) const {
    const Endpoint dy = input(last, 0);
    const auto product = users_.absorbable_input(last, 1, Opcode::kMultiply);
    for (const int k : {0, 1}) {
      if (!product) break;
      const auto exponential = users_.absorbable_input(*product, k, Opcode::kExp);
      const auto sum = users_.absorbable_input(*product, 1 - k, Opcode::kSum);
      if (exponential && sum && sums_rows(*sum) && input(*sum, 0) == dy) return Found{input(*exponential, 0), dy, true};
    }
    return std::nullopt;
  }

  bool fits(NodeId last, const Found& found) const {
    const Node& n = graph_.node(last);
    const PartialShape& shape = graph_.shape(found.y);
    const auto is_ref = [&](Endpoint e) { return graph_.node(e.node).output_is_ref(e.index); };
    return is_floating(n.output_dtypes[0]) && shape.is_full() && shape == graph_.shape(found.dy) && !is_ref(found.y) &&
           !is_ref(found.dy) && is_async_(n.device);
  }

  Status replace_with(NodeId last, const Found& found) {
    const OpDef& op = *graph_.ops().find("_SoftmaxGrad");
    AttrMap attrs = {{"logarithm", found.logarithm}};
    const std::vector<DType> dtypes(2, graph_.dtype(found.y));
    ARGOSY_RETURN_IF_ERROR(complete_attrs(op, dtypes, attrs));
    const std::vector<Endpoint> inputs = {found.y, found.dy};
    const Node& n = graph_.node(last);
    const std::vector<NodeId> controls(n.controls.begin(), n.controls.end());
    const Name colocated_with = n.colocated_with;
    ARGOSY_RETURN_IF_ERROR(graph_.replace_with(last, op.name, inputs, controls, std::move(attrs)));
    graph_.set_colocation(last, colocated_with);
    return ok_status();
  }

  Graph& graph_;
  const std::function<bool(const std::string&)>& is_async_;
  const NodeUsers users_;
};

}  // namespace

Result<int> fuse_softmax_gradient(StepGraph& step, const std::function<bool(const std::string&)>& is_async) {
  if (is_async == nullptr) return 0;
  const auto is_softmax = [](const OpDef& op) {
    return op.opcode == Opcode::kSoftmax || op.opcode == Opcode::kLogSoftmax;
  };
  if (!has_op(step.graph, is_softmax)) return 0;
  return SoftmaxGradients(step, is_async).run();
}

}  // namespace argosy
