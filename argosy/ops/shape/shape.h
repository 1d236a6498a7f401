// Ops that return shapes, change shapes, and make ranges of numbers. Names and defaults are those of tf.*.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The sizes along every axis, as a vector.
Value shape(Value x, DType out_type = DType::kInt32);
std::vector<Value> shape_n(const std::vector<Value>& xs, DType out_type = DType::kInt32);  // of each of the values
Value size(Value x, DType out_type = DType::kInt32);                                       // elements; scalar
Value rank(Value x);                                                                       // axes; int32 scalar

// The same elements in another shape. One size may be -1: it follows from the number of elements.
Value reshape(Value x, const std::vector<std::int64_t>& sizes, std::string_view name = "Reshape");
// The same, with the sizes as a vector.
Value reshape(Value x, Value sizes, std::string_view name = "Reshape");
// Removes axes of size 1: the given ones, or all.
Value squeeze(Value x, const std::vector<std::int64_t>& axes = {});
// Inserts an axis of size 1 before `axis`; -1: after the last.
Value expand_dims(Value x, int axis);

// start, start + delta, … below limit. Scalars of one dtype.
Value range(Value start, Value limit, Value delta);
Value range(Graph& graph, std::int32_t limit);  // 0, 1, … below limit
// num values from start to stop, both included.
Value linspace(Value start, Value stop, Value num);

}  // namespace argosy
