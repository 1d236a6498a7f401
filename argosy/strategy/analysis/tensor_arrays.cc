#include "argosy/strategy/analysis/tensor_arrays.h"

#include <algorithm>
#include <string_view>

namespace argosy {

namespace {

// Without its version: TensorArrayReadV3 is TensorArrayRead.
std::string_view kind(const Node& n) {
  std::string_view name = n.op->name;
  for (const std::string_view version : {"V2", "V3"}) {
    if (name.ends_with(version)) name.remove_suffix(version.size());
  }
  return name;
}

bool makes_array(const Node& n) { return kind(n) == "Stack" || kind(n) == "TensorArray"; }
bool makes_gradients(const Node& n) { return kind(n) == "TensorArrayGrad" || kind(n) == "TensorArrayGradWithShape"; }

}  // namespace

bool is_tensor_array_op(const Node& n) {
  constexpr std::string_view kStacks[] = {"Stack", "StackPush", "StackPop", "StackClose"};
  return kind(n).starts_with("TensorArray") ||
         std::find(std::begin(kStacks), std::end(kStacks), kind(n)) != std::end(kStacks);
}

TensorArrays::TensorArrays(const Graph& graph) : graph_(graph) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!is_tensor_array_op(n)) continue;
    if (makes_array(n)) values_[NodeId{i}];
    const std::string_view what = kind(n);
    const int input = what == "StackPush" ? 1 : what == "TensorArrayWrite" || what == "TensorArrayScatter" ? 2 : -1;
    if (input < 0) continue;
    bool of_gradients = false;
    if (const auto container = follow(n, of_gradients); container && !of_gradients) {
      values_[*container].push_back({NodeId{i}, input});
    }
  }
}

std::optional<NodeId> TensorArrays::array_of(const Node& n) const {
  bool of_gradients = false;
  return follow(n, of_gradients);
}

// Through Enter and Identity, and from an array of gradients to the array.
std::optional<NodeId> TensorArrays::follow(const Node& n, bool& of_gradients) const {
  if (!is_tensor_array_op(n) || n.inputs.empty()) return std::nullopt;
  Endpoint e = n.inputs[0];
  for (int steps = 0; steps < 64; ++steps) {
    const Node& from = graph_.node(e.node);
    if (makes_array(from)) return e.node;
    if (from.inputs.empty()) return std::nullopt;
    of_gradients = of_gradients || makes_gradients(from);
    e = from.inputs[0];
  }
  return std::nullopt;
}

std::vector<TensorArrays::Stored> TensorArrays::values(NodeId container) const {
  std::vector<Stored> all;
  const auto found = values_.find(container);
  if (found == values_.end()) return all;
  for (const Put& put : found->second) {
    const Node& n = graph_.node(put.by);
    all.push_back({n.inputs[static_cast<std::size_t>(put.input)], kind(n) == "TensorArrayScatter"});
  }
  return all;
}

std::optional<PartialShape> TensorArrays::read_shape(const Node& n, const ShapeOf& shape_of) const {
  const std::string_view what = kind(n);
  const bool one = what == "StackPop" || what == "TensorArrayRead";
  const auto container = one || what == "TensorArrayGather" ? array_of(n) : std::nullopt;
  if (!container) return std::nullopt;
  for (const Stored& v : values(*container)) {
    const PartialShape* const shape = shape_of(v.from);
    if (shape == nullptr || !shape->has_rank() || (v.stacked && shape->rank() == 0)) continue;
    PartialShape::Sizes sizes;
    if (!one) {
      const PartialShape* const indices = shape_of(n.inputs[1]);
      const bool counted = indices != nullptr && indices->has_rank() && indices->rank() == 1;
      sizes.push_back(counted ? (*indices)[0] : PartialShape::kUnknown);
    }
    for (int i = v.stacked ? 1 : 0; i < shape->rank(); ++i) sizes.push_back((*shape)[i]);
    return PartialShape(std::move(sizes));
  }
  return std::nullopt;
}

Result<std::vector<NodeId>> TensorArrays::order() const {
  if (empty()) return graph_.topological_order();
  for (const bool arrays : {true, false}) {
    Graph waiting = graph_.clone();
    wait_for_values(waiting, arrays);
    auto order = waiting.topological_order();
    if (order.ok()) return order;
  }
  return graph_.topological_order();
}

void TensorArrays::wait_for_values(Graph& waiting, bool arrays) const {
  for (std::int32_t i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.node(NodeId{i});
    const std::string_view what = kind(n);
    if (what != "StackPop" && !(arrays && (what == "TensorArrayRead" || what == "TensorArrayGather"))) continue;
    const auto container = array_of(n);
    if (!container) continue;
    for (const Stored& v : values(*container)) waiting.add_control_input(NodeId{i}, v.from.node);
  }
}

std::optional<Endpoint> TensorArrays::forwarded(const Node& n) const {
  const auto container = array_of(n);
  if (!container) return std::nullopt;
  if (kind(n) == "StackPop") {
    const std::vector<Stored> pushed = values(*container);
    return pushed.size() == 1 ? std::optional(pushed[0].from) : std::nullopt;
  }
  const Node& array = graph_.node(*container);
  if (kind(n) != "TensorArraySize" || array.attrs.get_or<bool>("dynamic_size", false)) return std::nullopt;
  return array.inputs[0];
}

}  // namespace argosy
