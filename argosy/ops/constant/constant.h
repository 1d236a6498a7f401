// Constants, placeholders and identities.
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

// A value that must be fed to a step that needs it.
Value placeholder(Graph& graph, DType dtype, PartialShape shape, std::string_view name = "Placeholder");
// The fed value, or `value` where nothing is fed.
Value placeholder_with_default(Value value, PartialShape shape, std::string_view name = "PlaceholderWithDefault");

Value identity(Value x, std::string_view name = "Identity");  // x itself
// x itself, through which no gradient flows.
Value stop_gradient(Value x, std::string_view name = "StopGradient");
Value zeros_like(Value x);  // zeros of x's shape and dtype
Value ones_like(Value x);   // ones of x's shape and dtype
// A node without data that waits for others (NoOp), to group training ops. Returns a control value.
Value group(Graph& graph, const std::vector<Value>& values, std::string_view name = "group");
// `value`, after all of `after` have run.
Value with_dependencies(const std::vector<Value>& after, Value value, std::string_view name = "control_dependency");

}  // namespace argosy
