#include "argosy/strategy/batch_size/dynamic_size_nodes.h"

#include <utility>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {

Result<Endpoint> DynamicSizeNodes::examples_for(NodeId node, NodeId taker) const {
  if (reinference_.depth(node) == 0) return Endpoint{input_, 0};
  for (const Endpoint e : graph_.node(taker).inputs) {
    const bool in_loop = reinference_.follows(e) && reinference_.depth(e.node) == reinference_.depth(node) &&
                         reinference_.layout(e).per_example == 1;
    if (in_loop && (node == taker || !comes_from(e.node, node))) return e;
  }
  return reinference_.refuse(graph_.node(node), "stands in a loop in which the examples cannot be counted");
}

// In the same iteration of its loop.
bool DynamicSizeNodes::comes_from(NodeId value, NodeId from) const {
  std::vector<char> seen(graph_.size(), 0);
  std::vector<NodeId> open{value};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == from) return true;
    if (std::exchange(seen[id.index], 1) || reinference_.goes_to(id)) continue;
    for (const Endpoint e : graph_.node(id).inputs) open.push_back(e.node);
  }
  return false;
}

Value DynamicSizeNodes::count(Endpoint examples, DType dtype, std::int64_t each) {
  const Value many = index(shape(graph_.value(examples), dtype), {std::int64_t{reinference_.layout(examples).axis}});
  return each == 1 ? many : many * constant_like(many, static_cast<double>(each));
}

Value DynamicSizeNodes::sizes(Endpoint examples, DType dtype, const std::vector<std::int64_t>& values, int axis) {
  std::vector<Value> parts;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const std::int64_t own = values[static_cast<std::size_t>(i)];
    if (i == axis) {
      parts.push_back(count(examples, dtype, own / batch_));
    } else {
      parts.push_back(dtype == DType::kInt64 ? constant(graph_, own)
                                             : constant(graph_, static_cast<std::int32_t>(own)));
    }
  }
  return stack(parts);
}

Value DynamicSizeNodes::integers(DType dtype, const std::vector<std::int64_t>& values) {
  if (dtype == DType::kInt64) return constant(graph_, Tensor::vector(values));
  return constant(graph_, Tensor::vector(std::vector<std::int32_t>(values.begin(), values.end())));
}

Result<Endpoint> DynamicSizeNodes::added(Value v, NodeId anchor) {
  if (!v.valid()) return graph_.status();
  ARGOSY_RETURN_IF_ERROR(reinference_.infer_added(anchor));
  return v.endpoint();
}

}  // namespace argosy
