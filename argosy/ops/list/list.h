// Tensor lists as immutable values: loops collect their results in them, element by element. An op returns a new list,
// which shares the elements. Where nothing else holds the old list, the update is in place.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// The shape of the elements may be unknown, wholly or partly: PartialShape::unknown(), [?,3].
Value tensor_list(Graph& graph, DType element_dtype, const PartialShape& element_shape);  // empty
// `length` elements that read as zeros until they are set.
Value tensor_list_reserve(Value length, DType element_dtype, const PartialShape& element_shape);
Value tensor_list_from_tensor(Value tensor);  // its rows

Value tensor_list_push_back(Value list, Value element);  // the list with one element more
// (the list without its last element, that element)
std::pair<Value, Value> tensor_list_pop_back(Value list);
Value tensor_list_set_item(Value list, Value index, Value element);  // the list with another element at this place
Value tensor_list_get_item(Value list, Value index);  // the element at this place; its dtype is the list's
Value tensor_list_stack(Value list);                  // elements of one shape, as rows
Value tensor_list_length(Value list);                 // int32 scalar

}  // namespace argosy
