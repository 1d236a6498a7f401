// Values that come from nowhere, and values handed through: constants, placeholders, identity.
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

Value constant(Graph& graph, Tensor value, std::string_view name = "Const");  // A node that holds this tensor.
// A scalar.
template <typename T>
Value constant(Graph& graph, T value) {
  return constant(graph, Tensor::scalar(value));
}
// A constant of `like`'s dtype: 2 as 2.0f beside a float tensor.
Value constant_like(Value like, double value);

// Must be fed when a step needs it.
Value placeholder(Graph& graph, DType dtype, PartialShape shape, std::string_view name = "Placeholder");
// Fed, or else this value.
Value placeholder_with_default(Value value, PartialShape shape, std::string_view name = "PlaceholderWithDefault");

Value identity(Value x, std::string_view name = "Identity");  // x itself
// Its value, with which no gradient flows.
Value stop_gradient(Value x, std::string_view name = "StopGradient");
Value zeros_like(Value x);  // zeros of x's shape and dtype
Value ones_like(Value x);   // ones of x's shape and dtype
// A node that does nothing but wait for others: what training ops are grouped with. Gives a control value.
Value group(Graph& graph, const std::vector<Value>& values, std::string_view name = "group");
// `value`, once `after` have run.
Value with_dependencies(const std::vector<Value>& after, Value value, std::string_view name = "control_dependency");

}  // namespace argosy
