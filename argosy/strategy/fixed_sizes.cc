#include "argosy/strategy/fixed_sizes.h"

#include <optional>
#include <vector>

#include "argosy/ops/constant/constant.h"
#include "argosy/strategy/branches.h"
#include "argosy/strategy/loops.h"

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

Result<bool> fix_sizes(Graph& graph, const BatchAxes& axes) {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const std::vector<int> loops = loop_depths(graph, order);
  const Branches branches = find_branches(graph, order);
  const auto uses = graph.consumers();
  const auto root = graph.name_scope("");
  bool some_stay = false;
  for (const auto& [e, sizes] : axes.sizes_of_all()) {
    // In a loop or a conditional a constant would be there when it is not.
    const bool always = loops[e.node.index] == 0 && branches.of[e.node.index] == 0;
    const std::optional<Tensor> value = always && !sizes.empty() ? sizes_tensor(graph, e, sizes) : std::nullopt;
    if (!value) some_stay = true;
    if (!value) continue;
    const Value fixed = constant(graph, *value, str_cat(graph.node(e.node).name, "/of_any_batch"));
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

}  // namespace argosy
