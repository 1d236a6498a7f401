#include "argosy/ops/list/list_gradient.h"

namespace argosy {

namespace {

AttrMap dtype_attr(GradContext& g) { return {{"element_dtype", g.attrs().get_type("element_dtype")}}; }
Value shape_of(Graph& graph, Value x) { return graph.add("Shape", {x}); }
Value shape_of_elements(Graph& graph, Value list) {
  return graph.add("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}});
}

}  // namespace

std::vector<Value> list_push_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value pop = graph.add("TensorListPopBack", {g.dy(), shape_of(graph, g.x(1))}, dtype_attr(g));
  return {pop.output(0), pop.output(1)};
}

std::vector<Value> list_pop_gradient(GradContext& g) {
  return {g.graph().add("TensorListPushBack", {g.dy(0), g.dy(1)}, dtype_attr(g)), Value()};
}

// All zeros but for the one element that was taken.
std::vector<Value> list_get_item_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value zeros = graph.add(
      "TensorListReserve", {shape_of_elements(graph, g.x(0)), graph.add("TensorListLength", {g.x(0)})}, dtype_attr(g));
  return {graph.add("TensorListSetItem", {zeros, g.x(1), g.dy()}, dtype_attr(g)), Value(), Value()};
}

std::vector<Value> list_set_item_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value others =
      graph.add("TensorListSetItem", {g.dy(), g.x(1), graph.add("ZerosLike", {g.x(2)})}, dtype_attr(g));
  const Value item = graph.add("TensorListGetItem", {g.dy(), g.x(1), shape_of(graph, g.x(2))}, dtype_attr(g));
  return {others, Value(), item};
}

std::vector<Value> list_stack_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("TensorListFromTensor", {g.dy(), shape_of_elements(graph, g.x(0))}, dtype_attr(g)), Value()};
}

std::vector<Value> list_from_tensor_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("TensorListStack", {g.dy(), g.x(1)}, dtype_attr(g)), Value()};
}

// Each index is assumed to be there once, as in TensorFlow.
std::vector<Value> list_gather_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("TensorListScatterV2",
                    {g.dy(), g.x(1), shape_of_elements(graph, g.x(0)), graph.add("TensorListLength", {g.x(0)})},
                    dtype_attr(g)),
          Value(), Value()};
}

std::vector<Value> list_scatter_gradient(GradContext& g) {
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = g.graph().add("TensorListGather", {g.dy(), g.x(1), g.x(2)}, dtype_attr(g));
  return dxs;
}

std::vector<Value> list_scatter_into_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value others =
      graph.add("TensorListScatterIntoExistingList", {g.dy(), graph.add("ZerosLike", {g.x(1)}), g.x(2)}, dtype_attr(g));
  const Value rows = graph.add("TensorListGather", {g.dy(), g.x(2), shape_of_elements(graph, g.dy())}, dtype_attr(g));
  return {others, rows, Value()};
}

std::vector<Value> list_resize_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("TensorListResize", {g.dy(), graph.add("TensorListLength", {g.x(0)})}), Value()};
}

std::vector<Value> list_concat_gradient(GradContext& g) {
  Graph& graph = g.graph();
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  dxs[0] = graph.add("TensorListSplit", {g.dy(), shape_of_elements(graph, g.x(0)), g.y(1)}, dtype_attr(g));
  return dxs;
}

std::vector<Value> list_split_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("TensorListConcatV2", {g.dy(), g.x(1), g.x(2)}, dtype_attr(g)), Value(), Value()};
}

}  // namespace argosy
