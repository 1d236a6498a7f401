#include <cmath>
#include <numbers>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/elementwise/elementwise_registration.h"

namespace argosy::elementwise {

namespace {

using Gradients = std::vector<Value>;

// Gradients of complex functions use the conjugated derivative.
Gradients neg_gradient(GradContext& g) { return {-g.dy()}; }
Gradients abs_gradient(GradContext& g) { return {g.dy() * sign(g.x())}; }
Gradients zero_gradient(GradContext& g) { return {zeros_like(g.x())}; }
Gradients square_gradient(GradContext& g) { return {g.dy() * (2.0 * conj(g.x()))}; }
Gradients exp_gradient(GradContext& g) { return {g.dy() * conj(g.y())}; }
Gradients expm1_gradient(GradContext& g) { return {g.dy() * exp(conj(g.x()))}; }
Gradients log_gradient(GradContext& g) { return {g.dy() * reciprocal(conj(g.x()))}; }
Gradients log1p_gradient(GradContext& g) { return {g.dy() * reciprocal(1.0 + conj(g.x()))}; }
Gradients sin_gradient(GradContext& g) { return {g.dy() * cos(conj(g.x()))}; }
Gradients cos_gradient(GradContext& g) { return {-g.dy() * sin(conj(g.x()))}; }
Gradients tan_gradient(GradContext& g) { return {g.dy() * square(reciprocal(cos(conj(g.x()))))}; }
Gradients asin_gradient(GradContext& g) { return {g.dy() * rsqrt(1.0 - square(conj(g.x())))}; }
Gradients acos_gradient(GradContext& g) { return {-g.dy() * rsqrt(1.0 - square(conj(g.x())))}; }
Gradients atan_gradient(GradContext& g) { return {g.dy() * reciprocal(1.0 + square(conj(g.x())))}; }
Gradients sinh_gradient(GradContext& g) { return {g.dy() * cosh(conj(g.x()))}; }
Gradients cosh_gradient(GradContext& g) { return {g.dy() * sinh(conj(g.x()))}; }
Gradients asinh_gradient(GradContext& g) { return {g.dy() / cosh(conj(g.y()))}; }
Gradients acosh_gradient(GradContext& g) { return {g.dy() / sinh(conj(g.y()))}; }
Gradients atanh_gradient(GradContext& g) { return {g.dy() * reciprocal(1.0 - square(conj(g.x())))}; }
Gradients erf_gradient(GradContext& g) { return {g.dy() * (2 * std::numbers::inv_sqrtpi * exp(-square(g.x())))}; }
Gradients erfc_gradient(GradContext& g) { return {g.dy() * (-2 * std::numbers::inv_sqrtpi * exp(-square(g.x())))}; }
Gradients lgamma_gradient(GradContext& g) { return {g.dy() * digamma(g.x())}; }
Gradients digamma_gradient(GradContext& g) {
  return {g.dy() * g.graph().add("Polygamma", {constant_like(g.x(), 1), g.x()})};
}
Gradients softsign_gradient(GradContext& g) { return {g.graph().add("SoftsignGrad", {g.dy(), g.x()})}; }

// The gradient by the op that takes (y, dy).
template <const char* op>
Gradients from_output(GradContext& g) {
  return {g.graph().add(op, {g.y(), g.dy()})};
}
template <const char* op>
Gradients from_conjugate(GradContext& g) {
  return {g.graph().add(op, {conj(g.y()), g.dy()})};
}
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kSqrtGrad[] = "SqrtGrad";
constexpr char kRsqrtGrad[] = "RsqrtGrad";
constexpr char kReciprocalGrad[] = "ReciprocalGrad";
constexpr char kInvGrad[] = "InvGrad";

// Second derivatives: inputs y and dy, z = op(y, dy), and the gradient of z.
Gradients tanh_grad_gradient(GradContext& g) {
  return {g.dy() * -2.0 * conj(g.x(1) * g.x(0)), g.graph().add("TanhGrad", {conj(g.x(0)), g.dy()})};
}
Gradients sigmoid_grad_gradient(GradContext& g) {
  const Value gb = g.dy() * conj(g.x(1));
  return {gb - 2.0 * gb * conj(g.x(0)), g.graph().add("SigmoidGrad", {conj(g.x(0)), g.dy()})};
}
Gradients sqrt_grad_gradient(GradContext& g) {
  const Value over_y = g.dy() / g.x(0);
  return {-conj(over_y) * g.y(), 0.5 * over_y};
}
Gradients rsqrt_grad_gradient(GradContext& g) {
  const Value y = conj(g.x(0));
  return {-1.5 * conj(g.dy()) * g.x(1) * square(y), g.graph().add("RsqrtGrad", {y, g.dy()})};
}
Gradients reciprocal_grad_gradient(GradContext& g) {
  const Value y = conj(g.x(0));
  return {conj(g.dy()) * -2.0 * g.x(1) * y, g.graph().add("ReciprocalGrad", {y, g.dy()})};
}
// z = dy / (1 + |x|)^2
Gradients softsign_grad_gradient(GradContext& g) {
  const Value x = g.x(1);
  return {g.graph().add("SoftsignGrad", {g.dy(), x}), g.dy() * g.y() * -2.0 * sign(x) / (1.0 + abs(x))};
}

std::optional<PartialInts> neg_ints(const ShapeContext& c, int) {
  const PartialInts* x = c.ints(0);
  if (x == nullptr) return std::nullopt;
  PartialInts negated = *x;
  const bool narrow = c.input_dtype(0) == DType::kInt32;
  for (auto& n : negated) {
    // The negative of the lowest integer is itself.
    if (n && *n != (narrow ? std::int64_t{INT32_MIN} : INT64_MIN)) n = -*n;
  }
  return negated;
}

struct UnaryOpRow {
  const char* name;
  const char* doc;
  const char* types;
  GradientFn gradient;
  bool blocks_gradient = false;
  CostFn cost = elementwise_cost;
};

constexpr char kSquare[] =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
    "complex128}";

constexpr UnaryOpRow kRows[] = {
    {"Neg", "-x", kSignedAndComplex, neg_gradient},
    {"Abs", "|x|", kSigned, abs_gradient},
    {"Sign", "-1, 0 or 1; NaN stays; of complex numbers x / |x|.", kSignedAndComplex, zero_gradient},
    {"Square", "x * x", kSquare, square_gradient},
    {"Sqrt", "The square root.", kFloatsAndComplex, from_output<kSqrtGrad>},
    {"Rsqrt", "1 / sqrt(x)", kFloatsAndComplex, from_output<kRsqrtGrad>},
    {"Reciprocal", "1 / x", kSignedAndComplex, from_output<kReciprocalGrad>},
    {"Inv", "1 / x", kSignedAndComplex, from_output<kInvGrad>},
    {"Exp", "e to the x.", kFloatsAndComplex, exp_gradient, false, function_cost},
    {"Expm1", "exp(x) - 1, exact near 0.", kFloatsAndComplex, expm1_gradient, false, function_cost},
    {"Log", "The natural logarithm.", kFloatsAndComplex, log_gradient, false, function_cost},
    {"Log1p", "log(1 + x), exact near 0.", kFloatsAndComplex, log1p_gradient, false, function_cost},
    {"Sin", "sin(x)", kFloatsAndComplex, sin_gradient, false, function_cost},
    {"Cos", "cos(x)", kFloatsAndComplex, cos_gradient, false, function_cost},
    {"Tan", "tan(x)", kFloatsAndComplex, tan_gradient, false, function_cost},
    {"Asin", "asin(x)", kFloatsAndComplex, asin_gradient, false, function_cost},
    {"Acos", "acos(x)", kFloatsAndComplex, acos_gradient, false, function_cost},
    {"Atan", "atan(x)", kFloatsAndComplex, atan_gradient, false, function_cost},
    {"Sinh", "sinh(x)", kFloatsAndComplex, sinh_gradient, false, function_cost},
    {"Cosh", "cosh(x)", kFloatsAndComplex, cosh_gradient, false, function_cost},
    {"Tanh", "tanh(x)", kFloatsAndComplex, from_conjugate<kTanhGrad>, false, function_cost},
    {"Asinh", "asinh(x)", kFloatsAndComplex, asinh_gradient, false, function_cost},
    {"Acosh", "acosh(x)", kFloatsAndComplex, acosh_gradient, false, function_cost},
    {"Atanh", "atanh(x)", kFloatsAndComplex, atanh_gradient, false, function_cost},
    {"Sigmoid", "1 / (1 + exp(-x))", kFloatsAndComplex, from_conjugate<kSigmoidGrad>, false, function_cost},
    {"Erf", "The error function.", kFloats, erf_gradient, false, function_cost},
    {"Erfc", "1 - erf(x)", kFloats, erfc_gradient, false, function_cost},
    {"Lgamma", "log |gamma(x)|", kFloats, lgamma_gradient, false, function_cost},
    {"Digamma", "The derivative of lgamma.", kFloats, digamma_gradient, false, function_cost},
    {"Floor", "The largest integer not above x.", kFloats, kNotDifferentiable, true},
    {"Ceil", "The smallest integer not below x.", kFloats, kNotDifferentiable, true},
    {"Round", "The nearest integer, ties to even.", kSignedAndComplex, kNotDifferentiable, true},
    {"Rint", "The nearest integer, ties to even.", kFloats, kNotDifferentiable, true},
};

struct PredicateRow {
  const char* name;
  const char* doc;
};
constexpr PredicateRow kPredicates[] = {
    {"IsNan", "Is x not a number?"}, {"IsInf", "Is x infinite?"}, {"IsFinite", "Is x neither infinite nor NaN?"}};

struct GradRow {
  const char* name;
  const char* doc;
  GradientFn gradient;
};
constexpr GradRow kGrads[] = {
    {"TanhGrad", "dy * (1 - y * y)", tanh_grad_gradient},
    {"SigmoidGrad", "dy * y * (1 - y)", sigmoid_grad_gradient},
    {"SqrtGrad", "dy / (2 y)", sqrt_grad_gradient},
    {"RsqrtGrad", "-dy * y^3 / 2", rsqrt_grad_gradient},
    {"ReciprocalGrad", "-dy * y * y", reciprocal_grad_gradient},
    {"InvGrad", "-dy * y * y", reciprocal_grad_gradient},
};

}  // namespace

Cost function_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 20;
  return cost;
}

void define_unary(OpRegistry& ops) {
  for (const UnaryOpRow& row : kRows) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T"},
             .outputs = {"y: T"},
             .attrs = {row.types},
             .shape = same_as_input,
             .gradient = row.gradient,
             .cost = row.cost,
             .known_ints = row.gradient == neg_gradient ? neg_ints : nullptr,
             .elementwise = true,
             .linear = row.gradient == neg_gradient ? Linear::kJointly : Linear::kNo,
             .blocks_gradient = row.blocks_gradient,
             .opcode = row.gradient == exp_gradient ? Opcode::kExp : Opcode::kNone,
             .in_place = {{0, 0}}});
  }
  for (const PredicateRow& row : kPredicates) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T"},
             .outputs = {"y: bool"},
             .attrs = {kFloats},
             .shape = same_as_input,
             .gradient = kNotDifferentiable,
             .elementwise = true,
             .blocks_gradient = true});
  }
  for (const GradRow& row : kGrads) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"y: T", "dy: T"},
             .outputs = {"z: T"},
             .attrs = {kFloatsAndComplex},
             .shape = merged_inputs,
             .gradient = row.gradient,
             .elementwise = true,
             .in_place = {{0, 0, true}, {1, 0, true}}});
  }
  ops.add({.name = "Softsign",
           .doc = "x / (1 + |x|)",
           .inputs = {"features: T"},
           .outputs = {"activations: T"},
           .attrs = {kFloats},
           .shape = same_as_input,
           .gradient = softsign_gradient,
           .elementwise = true,
           .in_place = {{0, 0}}});
  ops.add({.name = "SoftsignGrad",
           .doc = "dy / (1 + |x|)^2",
           .inputs = {"gradients: T", "features: T"},
           .outputs = {"backprops: T"},
           .attrs = {kFloats},
           .shape = merged_inputs,
           .gradient = softsign_grad_gradient,
           .elementwise = true,
           .in_place = {{0, 0, true}, {1, 0, true}},
           .sharding = "i.., i.. -> i..; linear 0"});
  ops.add({.name = "LogicalNot",
           .doc = "not x",
           .inputs = {"x: bool"},
           .outputs = {"y: bool"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .elementwise = true,
           .blocks_gradient = true,
           .in_place = {{0, 0}}});
  ops.add({.name = "Invert",
           .doc = "Every bit of x flipped.",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: integer"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .elementwise = true,
           .blocks_gradient = true,
           .in_place = {{0, 0}}});
  ops.add({.name = "PopulationCount",
           .doc = "How many bits of x are set.",
           .inputs = {"x: T"},
           .outputs = {"y: uint8"},
           .attrs = {"T: integer"},
           .shape = same_as_input,
           .gradient = kNotDifferentiable,
           .elementwise = true,
           .blocks_gradient = true});
}

}  // namespace argosy::elementwise
