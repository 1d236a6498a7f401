#include "argosy/ops/softmax/softmax.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

Status softmax_shape(ShapeContext& c) {
  if (c.input(0).rank() == 0) {
    return invalid_argument(c.op().name, ": logits must have an axis").with_id("ARG-SHAPE-004");
  }
  return same_as_input(c);
}

Status gradient_shape(ShapeContext& c) {
  if (c.input(0).rank() == 0) {
    return invalid_argument(c.op().name, ": softmax must have an axis").with_id("ARG-SHAPE-004");
  }
  return same_as_input(c);
}

Status dense_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape features, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape labels, c.with_rank(1, 2));
  const auto broadcasted = broadcast(features, labels);
  if (!broadcasted.ok()) {
    return invalid_argument("logits and labels must be broadcastable: logits_size=", features, " labels_size=", labels,
                            ": ", broadcasted.status().message());
  }
  const PartialShape& both = *broadcasted;
  c.set_output(0, {both[0]});
  c.set_output(1, both);
  return ok_status();
}

Status sparse_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape features, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape labels, c.with_rank(1, 1));
  const std::int64_t rows = features[0] >= 0 ? features[0] : labels[0];
  if (labels[0] >= 0 && labels[0] != rows) {
    return invalid_argument("logits and labels must have the same first dimension, got logits shape ", c.input(0),
                            " and labels shape ", labels, ": ", c.op().name, ": ", labels[0], " labels for ", rows,
                            " rows of logits")
        .with_id("ARG-SHAPE-015");
  }
  if (features[1] == 0) return invalid_argument(c.op().name, ": there must be at least one class");
  c.set_output(0, {rows});
  c.set_output(1, {rows, features[1]});
  return ok_status();
}

Cost softmax_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 25;
  return cost;
}

Value last_axis(Graph& graph) { return constant(graph, Tensor::vector<std::int32_t>({-1})); }
Value sum_last(Value x) { return x.graph().add("Sum", {x, last_axis(x.graph())}, {{"keep_dims", true}}); }
Value as_column(Value x) { return x.graph().add("ExpandDims", {x, constant(x.graph(), std::int32_t{-1})}); }

// y = softmax(x)  =>  dx = (dy - sum(dy * y)) * y
Value through_softmax(Value y, Value dy) { return (dy - sum_last(dy * y)) * y; }

std::vector<Value> softmax_gradient(GradContext& g) { return {through_softmax(g.y(), g.dy())}; }
std::vector<Value> log_softmax_gradient(GradContext& g) { return {g.dy() - exp(g.y()) * sum_last(g.dy())}; }

// Output 1 is what output 0 gives back to the logits: softmax - labels.
std::vector<Value> dense_gradient(GradContext& g) {
  const Value features = g.x(0), labels = g.x(1), dloss = as_column(g.dy(0));
  const PartialShape &narrow = features.shape(), &wide = g.y(1).shape();
  const bool whole = narrow.rank() == 2 && narrow[1] >= 0 && narrow[1] == wide[1];
  const Value logits = whole ? features : features + zeros_like(g.y(1));  // one logit for every class
  Value dx = dloss * g.y(1);
  Value dlabels = dloss * neg(log_softmax(logits));
  if (g.has_dy(1)) {
    dx = dx + through_softmax(softmax(logits), g.dy(1));
    dlabels = dlabels - g.dy(1);
  }
  return {sum_to_shape_of(features, dx), sum_to_shape_of(labels, dlabels)};
}
std::vector<Value> sparse_gradient(GradContext& g) {
  Value dx = as_column(g.dy(0)) * g.y(1);
  if (g.has_dy(1)) dx = dx + through_softmax(softmax(g.x(0)), g.dy(1));
  return {dx, Value()};
}

constexpr const char* kFloats = "T: {half, bfloat16, float, double}";

}  // namespace

void define_softmax(OpRegistry& ops) {
  ops.add({.name = "Softmax",
           .doc = "exp(x) / sum(exp(x)) along the last axis.",
           .inputs = {"logits: T"},
           .outputs = {"softmax: T"},
           .attrs = {kFloats},
           .shape = softmax_shape,
           .gradient = softmax_gradient,
           .cost = softmax_cost,
           .opcode = Opcode::kSoftmax,
           .in_place = {{0, 0}},
           .sharding = "i.. c -> i.. c; whole c"});
  ops.add({.name = "LogSoftmax",
           .doc = "x - log(sum(exp(x))) along the last axis.",
           .inputs = {"logits: T"},
           .outputs = {"logsoftmax: T"},
           .attrs = {kFloats},
           .shape = softmax_shape,
           .gradient = log_softmax_gradient,
           .cost = softmax_cost,
           .opcode = Opcode::kLogSoftmax,
           .in_place = {{0, 0}},
           .sharding = "i.. c -> i.. c; whole c"});
  ops.add({.name = "_SoftmaxGrad",
           .doc = "What flows back to the logits of a softmax, or of a LogSoftmax, out of what it gave and what flows "
                  "back to that. Made by passes (argosy/passes/fuse/fuse_softmax_gradient.h), after gradients.",
           .inputs = {"softmax: T", "gradient: T"},
           .outputs = {"backprop: T"},
           .attrs = {kFloats, "logarithm: bool = false"},
           .shape = gradient_shape,
           .gradient = kNotDifferentiable,
           .cost = elementwise_cost,
           .in_place = {{1, 0}},
           .sharding = "i.. c, i.. c -> i.. c; whole c; linear 1"});
  ops.add({.name = "SoftmaxCrossEntropyWithLogits",
           .doc = "-sum(labels * log(softmax(features))) of each row, and its gradient.",
           .inputs = {"features: T", "labels: T"},
           .outputs = {"loss: T", "backprop: T"},
           .attrs = {kFloats},
           .shape = dense_shape,
           .gradient = dense_gradient,
           .cost = softmax_cost,
           .in_place = {{0, 1}},
           .sharding = "n k, n k -> n, n k; whole k; broadcasts"});
  ops.add({.name = "SparseSoftmaxCrossEntropyWithLogits",
           .doc = "-log(softmax(features)[label]) of each row, and its gradient.",
           .inputs = {"features: T", "labels: Tlabels"},
           .outputs = {"loss: T", "backprop: T"},
           .attrs = {kFloats, "Tlabels: {int32, int64} = int64"},
           .shape = sparse_shape,
           .gradient = sparse_gradient,
           .cost = softmax_cost,
           .sharding = "n k, n -> n, n k; whole k"});
}

Value softmax(Value x, std::string_view name) { return x.valid() ? x.graph().add("Softmax", {x}, {}, name) : x; }
Value log_softmax(Value x, std::string_view name) { return x.valid() ? x.graph().add("LogSoftmax", {x}, {}, name) : x; }

namespace {

// The op on matrices, for logits of any rank: rows are flattened, and the losses take the shape of the rows again.
Value row_losses(const char* op, Value labels, Value logits, bool sparse, std::string_view name) {
  if (!labels.valid() || !logits.valid()) return {};
  Graph& graph = logits.graph();
  if (logits.shape().rank() == 2) return graph.add(op, {logits, labels}, {}, name);
  const auto scope = graph.name_scope(name);
  if (!logits.shape().has_rank() || logits.shape().rank() == 0 || logits.shape().sizes().back() < 0) {
    graph.fail(invalid_argument("cross entropy: rank and classes of logits must be known, not ", logits.shape()));
    return {};
  }
  const auto classes = static_cast<std::int32_t>(logits.shape().sizes().back());
  const Value matrix = constant(graph, Tensor::vector<std::int32_t>({-1, classes}));
  const Value flat = sparse ? constant(graph, Tensor::vector<std::int32_t>({-1})) : matrix;
  const Value loss = graph.add(op, {graph.add("Reshape", {logits, matrix}), graph.add("Reshape", {labels, flat})});
  const auto at = [&](std::int32_t i) { return constant(graph, Tensor::vector<std::int32_t>({i})); };
  const Value rows = graph.add("StridedSlice", {graph.add("Shape", {logits}), at(0), at(-1), at(1)});
  return graph.add("Reshape", {loss, rows});
}

}  // namespace

Value softmax_cross_entropy_with_logits(Value labels, Value logits, std::string_view name) {
  return row_losses("SoftmaxCrossEntropyWithLogits", labels, logits, false, name);
}
Value sparse_softmax_cross_entropy_with_logits(Value labels, Value logits, std::string_view name) {
  return row_losses("SparseSoftmaxCrossEntropyWithLogits", labels, logits, true, name);
}

}  // namespace argosy
