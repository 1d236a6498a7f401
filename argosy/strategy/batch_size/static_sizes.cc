#include "argosy/strategy/batch_size/static_sizes.h"

#include <optional>
#include <vector>

#include "argosy/ops/constant/constant.h"
#include "argosy/strategy/analysis/dataflow_branches.h"
#include "argosy/strategy/analysis/dataflow_loops.h"

namespace argosy {

namespace {

// Null: of a dtype or shape that sizes do not have.
std::optional<Tensor> sizes_tensor(const Graph& graph, Endpoint e, const std::vector<std::int64_t>& sizes) {
  const PartialShape& shape = graph.shape(e);
  const DType dtype = graph.dtype(e);
  if (!shape.has_rank() || shape.rank() > 1 || (dtype != DType::kInt32 && dtype != DType::kInt64)) return std::nullopt;
  Tensor value = Tensor::zeros(dtype, shape.rank() == 0 ? Shape() : Shape({std::ssize(sizes)}));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (dtype == DType::kInt32) value.data<std::int32_t>()[i] = static_cast<std::int32_t>(sizes[i]);
    if (dtype == DType::kInt64) value.data<std::int64_t>()[i] = sizes[i];
  }
  return value;
}

}  // namespace

Result<bool> make_sizes_static(Graph& graph, const BatchAxes& axes) {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const std::vector<int> loops = loop_depths(graph, order);
  const Branches branches = find_branches(graph, order);
  const auto uses = graph.consumers();
  const auto root = graph.name_scope("");
  bool some_stay = false;
  for (const auto& [e, sizes] : axes.static_sizes()) {
    // In a loop or a conditional a constant would be there when it is not.
    const bool always = loops[e.node.index] == 0 && branches.of[e.node.index] == 0;
    const std::optional<Tensor> value = always && !sizes.empty() ? sizes_tensor(graph, e, sizes) : std::nullopt;
    if (!value) some_stay = true;
    if (!value) continue;
    const Value fixed = constant(graph, *value, str_cat(graph.node(e.node).name, "/of_dynamic_batch"));
    if (!fixed.valid()) return graph.status();
    graph.set_device(fixed.node(), graph.node(e.node).device);
    for (const Graph::Use& use : uses[e.node.index]) {
      if (use.input < 0 || graph.node(use.node).inputs[static_cast<std::size_t>(use.input)] != e) continue;
      if (graph.node(use.node).op->flow == Flow::kNone) {
        graph.set_input(use.node, use.input, fixed.endpoint());
      } else {
        some_stay = true;
      }
    }
  }
  return some_stay;
}

bool make_squeezes_static(Graph& graph, const BatchAxes& axes) {
  bool found = false;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const auto* const given = n.attrs.find_as<std::vector<std::int64_t>>("squeeze_dims");
    if (given == nullptr || !given->empty() || axes.axis(n.inputs[0]) < 0) continue;
    const PartialShape& shape = graph.shape(n.inputs[0]);
    std::vector<std::int64_t> ones;
    PartialShape::Sizes left;
    bool known = shape.has_rank();
    for (int k = 0; known && k < shape.rank(); ++k) {
      const bool batch = k == axes.axis(n.inputs[0]);
      known = batch || shape[k] >= 0;
      if (!batch && shape[k] == 1) ones.push_back(k);
      if (batch || shape[k] != 1) left.push_back(shape[k]);
    }
    if (!known || ones.empty()) continue;  // with none to take away the list would be empty again
    graph.set_attr(NodeId{i}, "squeeze_dims", ones);
    graph.refine_shape({NodeId{i}, 0}, PartialShape(std::move(left)));
    found = true;
  }
  return found;
}

}  // namespace argosy
