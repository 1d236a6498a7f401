#include "argosy/passes/simplify/known_values.h"

#include <algorithm>

#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/evaluate.h"

namespace argosy {

namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;
constexpr double kMaxFlops = 1e6;

bool too_costly(const Node& n, const std::vector<Tensor>& inputs) {
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

}  // namespace

KnownValues::KnownValues(const Graph& graph)
    : graph_(graph), constant_(graph.ops().find("Const")), computed_(static_cast<std::size_t>(graph.size()), 1) {}

bool KnownValues::visit(NodeId id) {
  const bool computed = graph_.node(id).op != constant_;
  computed_[static_cast<std::size_t>(id.index)] = computed ? 1 : 0;
  return computed;
}

bool KnownValues::may_be_constant(NodeId id) const {
  const Node& n = graph_.node(id);
  return !n.op->stateful && !n.op->opens_files && n.op->flow == Flow::kNone && !n.op->async && n.controls.empty() &&
         !n.output_dtypes.empty() && !n.op->has_ref_input() &&
         std::none_of(n.output_dtypes.begin(), n.output_dtypes.end(),
                      [](DType d) { return d == DType::kResource || d == DType::kVariant; });
}

bool KnownValues::follows_from_shapes(NodeId id) const {
  return may_be_constant(id) && (has_known_ints(id) || has_row_count(id) || has_few_of_shape(id));
}

std::optional<std::vector<Tensor>> KnownValues::compute(NodeId id) const {
  if (has_known_ints(id)) return from_known_ints(id);
  if (auto known = from_row_count(id)) return known;
  if (auto known = from_shape(id)) return known;
  return from_constants(id);
}

std::optional<std::vector<Tensor>> KnownValues::from_constants(NodeId id) const {
  const Node& n = graph_.node(id);
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
  auto outputs = evaluate_op(*n.op, n.attrs, inputs);  // by the kernel that a step would run: the same bits
  // An error is left to the step that meets it: it may never run.
  if (!outputs.ok()) return std::nullopt;
  for (const Tensor& t : *outputs) {
    if (static_cast<std::int64_t>(t.bytes()) > kMaxBytes) return std::nullopt;
  }
  return *std::move(outputs);
}

// Shape, Size, Rank and what is computed from them.
bool KnownValues::has_known_ints(NodeId id) const {
  const Node& n = graph_.node(id);
  for (std::size_t i = 0; i < n.output_dtypes.size(); ++i) {
    const PartialInts* known = graph_.known_ints({id, static_cast<std::int32_t>(i)});
    const PartialShape& shape = n.output_shapes[i];
    if (known == nullptr || !shape.is_full() || shape.elements() != static_cast<std::int64_t>(known->size()) ||
        std::find(known->begin(), known->end(), std::nullopt) != known->end()) {
      return false;
    }
  }
  return !n.output_dtypes.empty();
}

std::vector<Tensor> KnownValues::from_known_ints(NodeId id) const {
  const Node& n = graph_.node(id);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < n.output_dtypes.size(); ++i) {
    const PartialInts& known = *graph_.known_ints({id, static_cast<std::int32_t>(i)});
    Tensor t = Tensor::zeros(n.output_dtypes[i], n.output_shapes[i].full().value());
    for (std::size_t k = 0; k < known.size(); ++k) {
      if (t.dtype() == DType::kInt32) {
        t.data<std::int32_t>()[k] = static_cast<std::int32_t>(*known[k]);
      } else {
        t.data<std::int64_t>()[k] = *known[k];
      }
    }
    outputs.push_back(std::move(t));
  }
  return outputs;
}

// True for an op that depends only on the number of rows of a batch, if that is known.
bool KnownValues::has_row_count(NodeId id) const {
  const Node& n = graph_.node(id);
  if (n.op->reads != Reads::kRows) return false;
  const PartialShape& batch = graph_.shape(n.inputs[0]);
  return batch.has_rank() && batch.rank() > 0 && batch[0] >= 0;
}

std::optional<std::vector<Tensor>> KnownValues::from_row_count(NodeId id) const {
  if (!has_row_count(id)) return std::nullopt;
  const Node& n = graph_.node(id);
  const std::int64_t rows = graph_.shape(n.inputs[0])[0];
  auto outputs =
      evaluate_op(*n.op, n.attrs, {Tensor::zeros(graph_.dtype(n.inputs[0]), {rows, 0})}, {.reference = true});
  return outputs.ok() ? std::optional(*std::move(outputs)) : std::nullopt;
}

// Ones and zeros like a small tensor: where a gradient begins.
bool KnownValues::has_few_of_shape(NodeId id) const {
  constexpr std::int64_t kFew = 256;
  const Node& n = graph_.node(id);
  if (n.op->reads != Reads::kShape) return false;
  const PartialShape& shape = n.output_shapes[0];
  return shape.is_full() && shape.elements() <= kFew && is_plain(n.output_dtypes[0]);
}

std::optional<std::vector<Tensor>> KnownValues::from_shape(NodeId id) const {
  if (!has_few_of_shape(id)) return std::nullopt;
  const Node& n = graph_.node(id);
  const Tensor alike = Tensor::zeros(n.output_dtypes[0], n.output_shapes[0].full().value());
  auto outputs = evaluate_op(*n.op, n.attrs, {alike}, {.reference = true});
  return outputs.ok() ? std::optional(*std::move(outputs)) : std::nullopt;
}

}  // namespace argosy
