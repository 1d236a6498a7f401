// Constants, placeholders and identities.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "argosy/graph/graph.h"

namespace argosy {

Value constant(Graph& graph, Tensor value, std::string_view name = "Const");  // A node that holds this tensor.
// A scalar.
template <typename T>
Value constant(Graph& graph, T value) {
  return constant(graph, Tensor::scalar(value));
}

// A number of any C++ type. Integers keep all their bits; a bool is 0 or 1.
class ExactNumber {
 public:
  // As it is.
  template <typename T>
  requires std::is_arithmetic_v<T> ExactNumber(T number)  // NOLINT(google-explicit-constructor): every number is one
      : value_(static_cast<Widest<T>>(number)) {}

  const std::variant<double, std::int64_t, std::uint64_t>& value() const { return value_; }  // in the widest type

 private:
  template <typename T>
  using Widest = std::conditional_t<std::is_floating_point_v<T>, double,
                                    std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  std::variant<double, std::int64_t, std::uint64_t> value_;
};

// A constant of `like`'s dtype: 2 as 2.0f beside a float tensor. A number that an integer dtype cannot hold exactly is
// an error of the graph (ARG-DTYPE-002); a floating dtype rounds.
Value constant_like(Value like, ExactNumber number);

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
