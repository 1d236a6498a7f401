// Stacks and tensor arrays: what loops of TensorFlow 1.x graphs save values in. They live as long as someone holds
// their handle. New graphs use lists (argosy/ops/list/list.h).
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

struct TensorArrayOptions {
  PartialShape element_shape = PartialShape::unknown();
  bool dynamic_size = false;     // grows when written beyond its size
  bool clear_after_read = true;  // an element may be read once
};

// A tensor array in a graph: `flow` stands for its state after everything done so far.
struct TensorArrayValue {
  Value handle, flow;
  DType dtype = DType::kInvalid;
};

TensorArrayValue tensor_array(Value size, DType dtype, const TensorArrayOptions& options = {},
                              std::string_view name = "TensorArray");
TensorArrayValue tensor_array_write(const TensorArrayValue& array, Value index, Value value);
Value tensor_array_read(const TensorArrayValue& array, Value index);
Value tensor_array_size(const TensorArrayValue& array);
// Elements of one shape, as rows.
Value tensor_array_gather(const TensorArrayValue& array, Value indices);
TensorArrayValue tensor_array_scatter(const TensorArrayValue& array, Value indices, Value rows);

}  // namespace argosy
