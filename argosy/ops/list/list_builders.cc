#include "argosy/ops/constant/constant.h"
#include "argosy/ops/list/list.h"

namespace argosy {

namespace {

Value shape_value(Graph& graph, const PartialShape& shape) {
  if (!shape.has_rank()) return constant(graph, std::int32_t{-1});
  std::vector<std::int32_t> sizes;
  for (const std::int64_t size : shape.sizes()) sizes.push_back(static_cast<std::int32_t>(size));
  return constant(graph, Tensor::vector(sizes));
}

// What the list holds, as far as the graph knows.
HandleFact elements_of(const Value& list) {
  const HandleFact* fact = list.graph().handle(list.endpoint());
  if (fact != nullptr) return *fact;
  list.graph().fail(invalid_argument("'", list.name(), "' is not known to be a list").with_id("ARG-LIST-001"));
  return {};
}

}  // namespace

Value tensor_list(Graph& graph, DType element_dtype, const PartialShape& element_shape) {
  return graph.add("EmptyTensorList", {shape_value(graph, element_shape), constant(graph, std::int32_t{-1})},
                   {{"element_dtype", element_dtype}});
}

Value tensor_list_reserve(Value length, DType element_dtype, const PartialShape& element_shape) {
  if (!length.valid()) return {};
  Graph& graph = length.graph();
  return graph.add("TensorListReserve", {shape_value(graph, element_shape), length},
                   {{"element_dtype", element_dtype}});
}

Value tensor_list_from_tensor(Value tensor) {
  if (!tensor.valid()) return {};
  Graph& graph = tensor.graph();
  const PartialShape& shape = tensor.shape();
  PartialShape element = PartialShape::unknown();
  if (shape.rank() > 0) {
    element = PartialShape(std::vector<std::int64_t>(shape.sizes().begin() + 1, shape.sizes().end()));
  }
  return graph.add("TensorListFromTensor", {tensor, shape_value(graph, element)});
}

Value tensor_list_push_back(Value list, Value element) {
  if (!list.valid()) return {};
  return list.graph().add("TensorListPushBack", {list, element});
}

std::pair<Value, Value> tensor_list_pop_back(Value list) {
  if (!list.valid()) return {};
  const HandleFact elements = elements_of(list);
  const Value pop = list.graph().add("TensorListPopBack", {list, shape_value(list.graph(), elements.shape)},
                                     {{"element_dtype", elements.dtype}});
  return {pop.output(0), pop.output(1)};
}

Value tensor_list_set_item(Value list, Value index, Value element) {
  if (!list.valid()) return {};
  return list.graph().add("TensorListSetItem", {list, index, element});
}

Value tensor_list_get_item(Value list, Value index) {
  if (!list.valid()) return {};
  const HandleFact elements = elements_of(list);
  return list.graph().add("TensorListGetItem", {list, index, shape_value(list.graph(), elements.shape)},
                          {{"element_dtype", elements.dtype}});
}

Value tensor_list_stack(Value list) {
  if (!list.valid()) return {};
  const HandleFact elements = elements_of(list);
  return list.graph().add("TensorListStack", {list, shape_value(list.graph(), elements.shape)},
                          {{"element_dtype", elements.dtype}});
}

Value tensor_list_length(Value list) {
  if (!list.valid()) return {};
  return list.graph().add("TensorListLength", {list});
}

}  // namespace argosy
