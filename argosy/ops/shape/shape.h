// What shape a value has, and the same elements in another shape; ranges of numbers. Names and defaults of tf.*.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Sizes along every axis; the number of elements; the number of axes: as values of the graph.
Value shape(Value x, DType out_type = DType::kInt32);
std::vector<Value> shape_n(const std::vector<Value>& xs, DType out_type = DType::kInt32);  // of each of the values
Value size(Value x, DType out_type = DType::kInt32);                                       // elements; scalar
Value rank(Value x);                                                                       // axes; int32 scalar

// The same elements in another shape; one size may be -1: what is left.
Value reshape(Value x, const std::vector<std::int64_t>& sizes, std::string_view name = "Reshape");
// The same elements with other sizes; one may be -1.
Value reshape(Value x, Value sizes, std::string_view name = "Reshape");
// Without axes of size 1: these, or all.
Value squeeze(Value x, const std::vector<std::int64_t>& axes = {});
// With an axis of size 1 inserted before `axis`; -1: behind all.
Value expand_dims(Value x, int axis);

// start, start + delta, … below limit. Scalars of one dtype.
Value range(Value start, Value limit, Value delta);
Value range(Graph& graph, std::int32_t limit);  // 0, 1, … below limit
// num values from start to stop, both included.
Value linspace(Value start, Value stop, Value num);

}  // namespace argosy
