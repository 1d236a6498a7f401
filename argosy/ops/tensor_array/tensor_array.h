// Tensor arrays, in which loops of TensorFlow 1.x graphs save values. An array lives as long as its handle. New graphs
// use lists (argosy/ops/list/list.h).
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// Options of tensor_array().
struct TensorArrayOptions {
  PartialShape element_shape = PartialShape::unknown();  // of every element
  bool dynamic_size = false;                             // a write beyond the size grows the array
  bool clear_after_read = true;                          // a read drops the element, so it can be read once
};

// A tensor array in a graph. `flow` is a float that orders operations: it depends on all earlier writes.
struct TensorArrayValue {
  Value handle, flow;             // the resource handle; the float
  DType dtype = DType::kInvalid;  // of the elements
};

// An array of `size` elements.
TensorArrayValue tensor_array(Value size, DType dtype, const TensorArrayOptions& options = {},
                              std::string_view name = "TensorArray");
// Each element is written once.
TensorArrayValue tensor_array_write(const TensorArrayValue& array, Value index, Value value);
Value tensor_array_read(const TensorArrayValue& array, Value index);  // element `index`, which must have been written
Value tensor_array_size(const TensorArrayValue& array);               // elements; int32 scalar
// Elements of one shape, as rows.
Value tensor_array_gather(const TensorArrayValue& array, Value indices);
// Row i of `rows` becomes element indices[i].
TensorArrayValue tensor_array_scatter(const TensorArrayValue& array, Value indices, Value rows);

}  // namespace argosy
