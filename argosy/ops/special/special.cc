#include "argosy/ops/special/special.h"

#include <cmath>
#include <numbers>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/select/select.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

using Gradients = std::vector<Value>;

// Hundreds of operations an element.
Cost special_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 200;
  return cost;
}

// All of one shape, but for scalars.
Status betainc_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::scalar();
  for (int i = 0; i < 3; ++i) {
    if (!c.input(i).has_rank()) {
      shape = PartialShape::unknown();
      break;
    }
    if (c.input(i).rank() == 0) continue;
    if (shape.has_rank() && shape.rank() == 0) {
      shape = c.input(i);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(c.input(i)));
    }
  }
  c.set_output(0, std::move(shape));
  return ok_status();
}

Gradients erfinv_gradient(GradContext& g) {
  return {g.dy() * (0.5 * std::sqrt(std::numbers::pi) * exp(square(g.y())))};
}
Gradients ndtri_gradient(GradContext& g) {
  return {g.dy() * (std::sqrt(2 * std::numbers::pi) * exp(square(g.y()) * 0.5))};
}

// The density of Gamma(a, 1) at x.
Value gamma_density(Value a, Value x) { return exp(-x + (a - 1) * log(x) - lgamma(a)); }
Gradients igamma_gradient(GradContext& g) {
  const Value a = g.x(0), x = g.x(1);
  return sum_to_operands(a, x, g.dy() * g.graph().add("IgammaGradA", {a, x}), g.dy() * gamma_density(a, x));
}
Gradients igammac_gradient(GradContext& g) {
  const Value a = g.x(0), x = g.x(1);
  return sum_to_operands(a, x, -g.dy() * g.graph().add("IgammaGradA", {a, x}), -g.dy() * gamma_density(a, x));
}
// In x alone, as TensorFlow's.
Gradients betainc_gradient(GradContext& g) {
  const Value a = g.x(0), b = g.x(1), x = g.x(2);
  const Value log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
  const Value slope = exp((b - 1) * log1p(-x) + (a - 1) * log(x) - log_beta);
  return {Value(), Value(), sum_to_shape_of(x, g.dy() * slope)};
}

Gradients i0_gradient(GradContext& g) { return {g.dy() * bessel_i1(g.x())}; }
Gradients i0e_gradient(GradContext& g) { return {g.dy() * (bessel_i1e(g.x()) - sign(g.x()) * g.y())}; }
Gradients i1_gradient(GradContext& g) {
  const Value x = g.x();
  const Value safe = where(equal(x, 0), 1, x);
  return {g.dy() * where(equal(x, 0), 0.5, bessel_i0(x) - g.y() / safe)};
}
Gradients i1e_gradient(GradContext& g) {
  const Value x = g.x();
  const Value safe = where(equal(x, 0), 1, x);
  return {g.dy() * where(equal(x, 0), 0.5, bessel_i0e(x) - g.y() * (sign(x) + reciprocal(safe)))};
}
Gradients j0_gradient(GradContext& g) { return {-g.dy() * bessel_j1(g.x())}; }
Gradients j1_gradient(GradContext& g) {
  const Value x = g.x();
  const Value safe = where(equal(x, 0), 1, x);
  return {g.dy() * where(equal(x, 0), 0.5, bessel_j0(x) - g.y() / safe)};
}
Gradients k0_gradient(GradContext& g) { return {-g.dy() * bessel_k1(g.x())}; }
Gradients k0e_gradient(GradContext& g) { return {g.dy() * (g.y() - bessel_k1e(g.x()))}; }
Gradients k1_gradient(GradContext& g) { return {g.dy() * (-bessel_k0(g.x()) - g.y() / g.x())}; }
Gradients k1e_gradient(GradContext& g) { return {g.dy() * (g.y() * (1 - reciprocal(g.x())) - bessel_k0e(g.x()))}; }
Gradients y0_gradient(GradContext& g) { return {-g.dy() * bessel_y1(g.x())}; }
Gradients y1_gradient(GradContext& g) { return {g.dy() * (bessel_y0(g.x()) - g.y() / g.x())}; }
Gradients dawsn_gradient(GradContext& g) { return {g.dy() * (1 - 2.0 * g.x() * g.y())}; }
Gradients expint_gradient(GradContext& g) { return {g.dy() * exp(g.x()) / g.x()}; }
Gradients fresnel_cos_gradient(GradContext& g) { return {g.dy() * cos(std::numbers::pi / 2 * square(g.x()))}; }
Gradients fresnel_sin_gradient(GradContext& g) { return {g.dy() * sin(std::numbers::pi / 2 * square(g.x()))}; }
Gradients spence_gradient(GradContext& g) {
  const Value x = g.x();
  const Value safe = where(equal(x, 1), 2, x);
  return {g.dy() * where(equal(x, 1), -1, log(x) / (1 - safe))};
}

struct SpecialRow {
  const char* name;
  const char* doc;
  GradientFn gradient;
};
constexpr SpecialRow kUnary[] = {
    {"Erfinv", "The inverse of erf.", erfinv_gradient},
    {"Ndtri", "The inverse of the standard normal distribution function.", ndtri_gradient},
    {"BesselI0", "The modified Bessel function of the first kind of order 0.", i0_gradient},
    {"BesselI0e", "exp(-|x|) * BesselI0.", i0e_gradient},
    {"BesselI1", "The modified Bessel function of the first kind of order 1.", i1_gradient},
    {"BesselI1e", "exp(-|x|) * BesselI1.", i1e_gradient},
    {"BesselJ0", "The Bessel function of the first kind of order 0.", j0_gradient},
    {"BesselJ1", "The Bessel function of the first kind of order 1.", j1_gradient},
    {"BesselK0", "The modified Bessel function of the second kind of order 0.", k0_gradient},
    {"BesselK0e", "exp(x) * BesselK0.", k0e_gradient},
    {"BesselK1", "The modified Bessel function of the second kind of order 1.", k1_gradient},
    {"BesselK1e", "exp(x) * BesselK1.", k1e_gradient},
    {"BesselY0", "The Bessel function of the second kind of order 0.", y0_gradient},
    {"BesselY1", "The Bessel function of the second kind of order 1.", y1_gradient},
    {"Dawsn", "Dawson's integral.", dawsn_gradient},
    {"Expint", "The exponential integral Ei.", expint_gradient},
    {"FresnelCos", "The Fresnel integral of the cosine.", fresnel_cos_gradient},
    {"FresnelSin", "The Fresnel integral of the sine.", fresnel_sin_gradient},
    {"Spence", "The dilogarithm of 1 - x.", spence_gradient},
};

}  // namespace

static void add_special_ops(OpRegistry& ops) {
  const std::string floats = "T: {bfloat16, half, float, double}";
  for (const SpecialRow& row : kUnary) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T"},
             .outputs = {"y: T"},
             .attrs = {floats},
             .shape = same_as_input,
             .gradient = row.gradient,
             .cost = special_cost,
             .in_place = {{0, 0}}});
  }
  const auto two = [&](const char* name, const char* doc, const std::string& types, GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"a: T", "x: T"},
             .outputs = {"z: T"},
             .attrs = {types},
             .shape = broadcast_inputs,
             .gradient = gradient,
             .cost = special_cost});
  };
  two("Igamma", "The lower regularized incomplete gamma function.", floats, igamma_gradient);
  two("Igammac", "The upper regularized incomplete gamma function.", floats, igammac_gradient);
  two("IgammaGradA", "The derivative of Igamma in a.", "T: {float, double}", kNotDifferentiable);
  ops.add({.name = "RandomGammaGrad",
           .doc = "How a Gamma(alpha, 1) sample moves with alpha.",
           .inputs = {"alpha: T", "sample: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {float, double}"},
           .shape = broadcast_inputs,
           .gradient = kNotDifferentiable,
           .cost = special_cost,
           .sharding = "i.., i.. -> i..; broadcasts"});
  ops.add({.name = "Betainc",
           .doc = "The regularized incomplete beta function.",
           .inputs = {"a: T", "b: T", "x: T"},
           .outputs = {"z: T"},
           .attrs = {"T: {float, double}"},
           .shape = betainc_shape,
           .gradient = betainc_gradient,
           .cost = special_cost,
           .sharding = "i.., i.., i.. -> i..; broadcasts"});
}

void define_special(OpRegistry& ops) {
  with_sharding(ops, add_special_ops,
                {{"Erfinv", "i.. -> i.."},
                 {"Ndtri", "i.. -> i.."},
                 {"BesselI0", "i.. -> i.."},
                 {"BesselI0e", "i.. -> i.."},
                 {"BesselI1", "i.. -> i.."},
                 {"BesselI1e", "i.. -> i.."},
                 {"BesselJ0", "i.. -> i.."},
                 {"BesselJ1", "i.. -> i.."},
                 {"BesselK0", "i.. -> i.."},
                 {"BesselK0e", "i.. -> i.."},
                 {"BesselK1", "i.. -> i.."},
                 {"BesselK1e", "i.. -> i.."},
                 {"BesselY0", "i.. -> i.."},
                 {"BesselY1", "i.. -> i.."},
                 {"Dawsn", "i.. -> i.."},
                 {"Expint", "i.. -> i.."},
                 {"FresnelCos", "i.. -> i.."},
                 {"FresnelSin", "i.. -> i.."},
                 {"Spence", "i.. -> i.."},
                 {"Igamma", "i.., i.. -> i..; broadcasts"},
                 {"Igammac", "i.., i.. -> i..; broadcasts"},
                 {"IgammaGradA", "i.., i.. -> i..; broadcasts"}});
}

namespace {
Value one(const char* op, Value x) { return x.valid() ? x.graph().add(op, {x}) : x; }
}  // namespace

Value erfinv(Value x) { return one("Erfinv", x); }
Value ndtri(Value x) { return one("Ndtri", x); }
Value bessel_i0(Value x) { return one("BesselI0", x); }
Value bessel_i0e(Value x) { return one("BesselI0e", x); }
Value bessel_i1(Value x) { return one("BesselI1", x); }
Value bessel_i1e(Value x) { return one("BesselI1e", x); }
Value bessel_j0(Value x) { return one("BesselJ0", x); }
Value bessel_j1(Value x) { return one("BesselJ1", x); }
Value bessel_k0(Value x) { return one("BesselK0", x); }
Value bessel_k0e(Value x) { return one("BesselK0e", x); }
Value bessel_k1(Value x) { return one("BesselK1", x); }
Value bessel_k1e(Value x) { return one("BesselK1e", x); }
Value bessel_y0(Value x) { return one("BesselY0", x); }
Value bessel_y1(Value x) { return one("BesselY1", x); }
Value dawsn(Value x) { return one("Dawsn", x); }
Value expint(Value x) { return one("Expint", x); }
Value fresnel_cos(Value x) { return one("FresnelCos", x); }
Value fresnel_sin(Value x) { return one("FresnelSin", x); }
Value spence(Value x) { return one("Spence", x); }
Value igamma(Value a, Value x) { return a.valid() ? a.graph().add("Igamma", {a, x}) : a; }
Value igammac(Value a, Value x) { return a.valid() ? a.graph().add("Igammac", {a, x}) : a; }
Value betainc(Value a, Value b, Value x) { return a.valid() ? a.graph().add("Betainc", {a, b, x}) : a; }

}  // namespace argosy
