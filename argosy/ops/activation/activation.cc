#include "argosy/ops/activation/activation.h"

#include <numbers>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/activation/bias.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

using Gradients = std::vector<Value>;

Value add_to(GradContext& g, const char* op, std::vector<Value> inputs) { return g.graph().add(op, std::move(inputs)); }
AttrMap alpha_of(GradContext& g) { return {{"alpha", g.attrs().get_float("alpha")}}; }
// Returns `value` where y is below zero, else 0.
Value where_negative(Value y, Value value) {
  return y.graph().add("SelectV2", {less(y, 0), value, y.graph().add("ZerosLike", {y})});
}

Gradients relu_gradient(GradContext& g) { return {add_to(g, "ReluGrad", {g.dy(), g.y()})}; }
Gradients relu6_gradient(GradContext& g) { return {add_to(g, "Relu6Grad", {g.dy(), g.y()})}; }
Gradients elu_gradient(GradContext& g) { return {add_to(g, "EluGrad", {g.dy(), g.y()})}; }
Gradients selu_gradient(GradContext& g) { return {add_to(g, "SeluGrad", {g.dy(), g.y()})}; }
Gradients softplus_gradient(GradContext& g) { return {add_to(g, "SoftplusGrad", {g.dy(), g.x()})}; }
Gradients leaky_gradient(GradContext& g) { return {g.graph().add("LeakyReluGrad", {g.dy(), g.x()}, alpha_of(g))}; }

// Piecewise linear: the second derivative is zero almost everywhere.
Gradients relu_grad_gradient(GradContext& g) { return {add_to(g, "ReluGrad", {g.dy(), g.x(1)}), Value()}; }
Gradients relu6_grad_gradient(GradContext& g) { return {add_to(g, "Relu6Grad", {g.dy(), g.x(1)}), Value()}; }
Gradients leaky_grad_gradient(GradContext& g) {
  return {g.graph().add("LeakyReluGrad", {g.dy(), g.x(1)}, alpha_of(g)), Value()};
}
Gradients elu_grad_gradient(GradContext& g) {
  return {add_to(g, "EluGrad", {g.dy(), g.x(1)}), where_negative(g.x(1), g.dy() * g.x(0))};
}
Gradients selu_grad_gradient(GradContext& g) {
  return {add_to(g, "SeluGrad", {g.dy(), g.x(1)}), where_negative(g.x(1), g.dy() * g.x(0))};
}
Gradients softplus_grad_gradient(GradContext& g) {
  const Value s = sigmoid(g.x(1));
  return {add_to(g, "SoftplusGrad", {g.dy(), g.x(1)}), g.dy() * g.x(0) * s * (1 - s)};
}

Cost function_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 20;  // an exponential
  return cost;
}

constexpr const char* kReal =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
constexpr const char* kFloats = "T: {half, bfloat16, float, double}";

struct ActivationRow {
  const char* name;
  const char* doc;
  const char* types;
  GradientFn gradient;
  CostFn cost;
};
constexpr ActivationRow kActivations[] = {
    {"Relu", "max(features, 0)", kReal, relu_gradient, elementwise_cost},
    {"Relu6", "min(max(features, 0), 6)", kReal, relu6_gradient, elementwise_cost},
    {"Elu", "features, or exp(features) - 1 below 0", kFloats, elu_gradient, function_cost},
    {"Selu", "scale * features, or scale * alpha * (exp(features) - 1) below 0", kFloats, selu_gradient, function_cost},
    {"Softplus", "log(exp(features) + 1)", kFloats, softplus_gradient, function_cost},
};
// The second input: "features" or "outputs".
struct GradRow : ActivationRow {
  const char* second;
};
constexpr GradRow kGrads[] = {
    {{"ReluGrad", "gradients where features > 0", kReal, relu_grad_gradient, elementwise_cost}, "features"},
    {{"Relu6Grad", "gradients where 0 < features < 6", kReal, relu6_grad_gradient, elementwise_cost}, "features"},
    {{"EluGrad", "gradients, times outputs + 1 below 0", kFloats, elu_grad_gradient, elementwise_cost}, "outputs"},
    {{"SeluGrad", "gradients times the slope of selu", kFloats, selu_grad_gradient, elementwise_cost}, "outputs"},
    {{"SoftplusGrad", "gradients * sigmoid(features)", kFloats, softplus_grad_gradient, function_cost}, "features"},
};

}  // namespace

static void add_activation_ops(OpRegistry& ops) {
  for (const ActivationRow& row : kActivations) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"features: T"},
             .outputs = {"activations: T"},
             .attrs = {row.types},
             .shape = same_as_input,
             .gradient = row.gradient,
             .cost = row.cost,
             .elementwise = true,
             .opcode = row.gradient == relu_gradient ? Opcode::kRelu : Opcode::kNone,
             .in_place = {{0, 0}}});
  }
  for (const GradRow& row : kGrads) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"gradients: T", std::string(row.second) + ": T"},
             .outputs = {"backprops: T"},
             .attrs = {row.types},
             .shape = merged_inputs,
             .gradient = row.gradient,
             .cost = row.cost,
             .elementwise = true,
             .linear = Linear::kFirst,
             .opcode = row.gradient == relu_grad_gradient ? Opcode::kReluGrad : Opcode::kNone,
             .in_place = {{0, 0, true}, {1, 0, true}}});
  }
  ops.add({.name = "LeakyRelu",
           .doc = "features, or alpha * features below 0",
           .inputs = {"features: T"},
           .outputs = {"activations: T"},
           .attrs = {"alpha: float = 0.2", std::string(kFloats) + " = float"},
           .shape = same_as_input,
           .gradient = leaky_gradient,
           .in_place = {{0, 0}},
           .sharding = "i.. -> i.."});
  ops.add({.name = "LeakyReluGrad",
           .doc = "gradients, times alpha where features <= 0",
           .inputs = {"gradients: T", "features: T"},
           .outputs = {"backprops: T"},
           .attrs = {"alpha: float = 0.2", std::string(kFloats) + " = float"},
           .shape = merged_inputs,
           .gradient = leaky_grad_gradient,
           .linear = Linear::kFirst,
           .in_place = {{0, 0, true}, {1, 0, true}},
           .sharding = "i.., i.. -> i..; linear 0"});
  define_bias(ops);
}

void define_activation(OpRegistry& ops) {
  with_sharding(ops, add_activation_ops,
                {{"Relu", "i.. -> i..; monotone 0"},
                 {"Relu6", "i.. -> i..; monotone 0"},
                 {"ReluGrad", "i.., i.. -> i..; linear 0"},
                 {"Relu6Grad", "i.., i.. -> i..; linear 0"},
                 {"EluGrad", "i.., i.. -> i..; linear 0"},
                 {"SeluGrad", "i.., i.. -> i..; linear 0"},
                 {"SoftplusGrad", "i.., i.. -> i..; linear 0"}});
}

namespace {
Value apply(const char* op, Value x, std::string_view name, AttrMap attrs = {}) {
  return x.valid() ? x.graph().add(op, {x}, std::move(attrs), name) : x;
}
}  // namespace

Value relu(Value x, std::string_view name) { return apply("Relu", x, name); }
Value relu6(Value x, std::string_view name) { return apply("Relu6", x, name); }
Value elu(Value x, std::string_view name) { return apply("Elu", x, name); }
Value selu(Value x, std::string_view name) { return apply("Selu", x, name); }
Value softplus(Value x, std::string_view name) { return apply("Softplus", x, name); }
Value leaky_relu(Value x, float alpha, std::string_view name) {
  return apply("LeakyRelu", x, name, {{"alpha", alpha}});
}

Value gelu(Value x, bool approximate) {
  if (!x.valid()) return {};
  const auto scope = x.graph().name_scope("Gelu");
  if (!approximate) return 0.5 * x * (1 + erf(x * (std::numbers::sqrt2 / 2)));
  constexpr double kSqrt2OverPi = 0.79788456080286535588;
  return 0.5 * x * (1 + tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)));
}

Value swish(Value x) {
  if (!x.valid()) return {};
  const auto scope = x.graph().name_scope("Swish");
  return x * sigmoid(x);
}

}  // namespace argosy
