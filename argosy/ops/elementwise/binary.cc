#include "argosy/graph/gradients.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/elementwise/elementwise_registration.h"
#include "argosy/ops/select/select.h"

namespace argosy::elementwise {

namespace {

using Gradients = std::vector<Value>;

// 1 where x is not 0, else 0.
Value not_zero(Value x) { return cast(not_equal(x, 0), x.dtype()); }
// Sums the gradients of inputs x and y of an op to their shapes.
Gradients back(GradContext& g, Value dx, Value dy) { return sum_to_operands(g.x(0), g.x(1), dx, dy); }

Gradients add_gradient(GradContext& g) { return back(g, g.dy(), g.dy()); }
Gradients sub_gradient(GradContext& g) { return back(g, g.dy(), -g.dy()); }
Gradients mul_gradient(GradContext& g) { return back(g, g.dy() * conj(g.x(1)), conj(g.x(0)) * g.dy()); }
Gradients div_gradient(GradContext& g) {
  const Value x = conj(g.x(0));
  const Value y = conj(g.x(1));
  return back(g, g.dy() / y, g.dy() * (-x / y / y));
}
Gradients div_no_nan_gradient(GradContext& g) {
  const Value x = conj(g.x(0));
  const Value y = conj(g.x(1));
  return back(g, div_no_nan(g.dy(), y), g.dy() * div_no_nan(div_no_nan(-x, y), y));
}
Gradients mul_no_nan_gradient(GradContext& g) {
  return back(g, multiply_no_nan(g.dy(), g.x(1)), multiply_no_nan(g.x(0), g.dy()));
}
Gradients floor_mod_gradient(GradContext& g) { return back(g, g.dy(), g.dy() * -floor_div(g.x(0), g.x(1))); }
Gradients maximum_gradient(GradContext& g) {
  const Value mask = greater_equal(g.x(0), g.x(1));
  return back(g, where(mask, g.dy(), 0), where(mask, 0, g.dy()));
}
Gradients minimum_gradient(GradContext& g) {
  const Value mask = less_equal(g.x(0), g.x(1));
  return back(g, where(mask, g.dy(), 0), where(mask, 0, g.dy()));
}
Gradients pow_gradient(GradContext& g) {
  const Value x = conj(g.x(0));
  const Value y = conj(g.x(1));
  // log(x) where it is real. Elsewhere a real exponent has no derivative.
  const Value has_log = is_complex(x.dtype()) ? not_equal(x, 0) : greater(x, 0);
  const Value log_x = where(has_log, log(where(has_log, x, 1)), 0);
  return back(g, g.dy() * y * pow(x, y - 1), g.dy() * conj(g.y()) * log_x);
}
Gradients squared_difference_gradient(GradContext& g) {
  const Value dx = 2.0 * g.dy() * (g.x(0) - g.x(1));
  return back(g, dx, -dx);
}
Gradients atan2_gradient(GradContext& g) {
  const Value over = g.dy() / (square(g.x(0)) + square(g.x(1)));
  return back(g, over * g.x(1), -over * g.x(0));
}
Gradients xdivy_gradient(GradContext& g) {
  const Value x = g.x(0);
  const Value y = g.x(1);
  return back(g, xdivy(not_zero(x), y) * g.dy(), xdivy(-x, square(y)) * g.dy());
}
Gradients xlogy_gradient(GradContext& g) {
  const Value x = g.x(0);
  const Value y = g.x(1);
  return back(g, xlogy(not_zero(x), y) * g.dy(), xdivy(x, y) * g.dy());
}
Gradients xlog1py_gradient(GradContext& g) {
  const Value x = g.x(0);
  const Value y = g.x(1);
  return back(g, xlog1py(not_zero(x), y) * g.dy(), xdivy(x, y + 1.0) * g.dy());
}
Gradients polygamma_gradient(GradContext& g) {
  return back(g, Value(), g.dy() * g.graph().add("Polygamma", {g.x(0) + 1.0, g.x(1)}));
}
Gradients zeta_gradient(GradContext& g) {
  return back(g, Value(), g.dy() * (-g.x(0) * g.graph().add("Zeta", {g.x(0) + 1.0, g.x(1)})));
}
Gradients next_after_gradient(GradContext& g) { return back(g, g.dy(), Value()); }

using Integers = std::optional<std::int64_t>;

// Computes known integers (sizes, axes) of vectors and scalars, one by one.
template <Integers (*function)(std::int64_t, std::int64_t)>
std::optional<PartialInts> known(const ShapeContext& c, int) {
  const PartialInts* const x = c.ints(0);
  const PartialInts* const y = c.ints(1);
  if (x == nullptr || y == nullptr || c.input(0).rank() > 1 || c.input(1).rank() > 1) return std::nullopt;
  if (x->size() != y->size() && x->size() != 1 && y->size() != 1) return std::nullopt;
  const std::size_t n = x->size() == 1 ? y->size() : x->size();
  const std::int64_t limit = c.input_dtype(0) == DType::kInt32 ? INT32_MAX : INT64_MAX;
  PartialInts z(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Integers a = (*x)[x->size() == 1 ? 0 : i];
    const Integers b = (*y)[y->size() == 1 ? 0 : i];
    if (a && b) z[i] = function(*a, *b);
    if (z[i] && (*z[i] > limit || *z[i] < -limit)) z[i] = std::nullopt;
  }
  return z;
}
Integers known_add(std::int64_t a, std::int64_t b) {
  std::int64_t z = 0;
  return __builtin_add_overflow(a, b, &z) ? Integers() : z;
}
Integers known_sub(std::int64_t a, std::int64_t b) {
  std::int64_t z = 0;
  return __builtin_sub_overflow(a, b, &z) ? Integers() : z;
}
Integers known_mul(std::int64_t a, std::int64_t b) {
  std::int64_t z = 0;
  return __builtin_mul_overflow(a, b, &z) ? Integers() : z;
}
Integers known_truncate_div(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? Integers() : a / b; }
Integers known_floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return {};
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
Integers known_floor_mod(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return {};
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
Integers known_maximum(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
Integers known_minimum(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

struct BinaryOpRow {
  const char* name;
  const char* doc;
  const char* types;
  GradientFn gradient;
  bool blocks_gradient = false;
  bool commutative = false;
  KnownIntsFn known_ints = nullptr;
  CostFn cost = elementwise_cost;
};

constexpr char kAdd[] =
    "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}";
constexpr char kAll[] = "T: number";
constexpr char kOrdered[] = "T: real";
constexpr char kMod[] = "T: {int32, int64, half, bfloat16, float, double}";
constexpr char kPow[] = "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}";
constexpr char kSquaredDifference[] = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";
constexpr char kIntegers[] = "T: integer";

constexpr BinaryOpRow kRows[] = {
    {"Add", "x + y", kAdd, add_gradient, false, false, known<known_add>},
    {"AddV2", "x + y", kAll, add_gradient, false, true, known<known_add>},
    {"Sub", "x - y", kAll, sub_gradient, false, false, known<known_sub>},
    {"Mul", "x * y", kAll, mul_gradient, false, true, known<known_mul>},
    {"Div", "x / y; integers towards zero.", kAll, div_gradient, false, false, known<known_truncate_div>},
    {"RealDiv", "x / y", kAll, div_gradient},
    {"DivNoNan", "x / y, 0 where y is 0.", kFloatsAndComplex, div_no_nan_gradient},
    {"MulNoNan", "x * y, 0 where y is 0.", kFloatsAndComplex, mul_no_nan_gradient},
    {"FloorDiv", "floor(x / y)", kAll, kNotDifferentiable, true, false, known<known_floor_div>},
    {"TruncateDiv", "x / y towards zero.", kAll, kNotDifferentiable, true, false, known<known_truncate_div>},
    {"FloorMod", "x - floor(x / y) * y", kOrdered, floor_mod_gradient, false, false, known<known_floor_mod>},
    {"Mod", "The remainder of x / y towards zero.", kMod, kNotDifferentiable, false, false},
    {"TruncateMod", "The remainder of x / y towards zero.", kMod, kNotDifferentiable, false, false},
    {"Maximum", "The larger; NaN if either is.", kOrdered, maximum_gradient, false, false, known<known_maximum>},
    {"Minimum", "The smaller; NaN if either is.", kOrdered, minimum_gradient, false, false, known<known_minimum>},
    {"Pow", "x to the y.", kPow, pow_gradient, false, false, nullptr, function_cost},
    {"SquaredDifference", "(x - y)^2", kSquaredDifference, squared_difference_gradient, false, true},
    {"Xdivy", "x / y, 0 where x is 0.", kFloatsAndComplex, xdivy_gradient},
    {"Xlogy", "x log(y), 0 where x is 0.", kFloatsAndComplex, xlogy_gradient, false, false, nullptr, function_cost},
    {"Xlog1py", "x log1p(y), 0 where x is 0.", kFloatsAndComplex, xlog1py_gradient, false, false, nullptr,
     function_cost},
    {"BitwiseAnd", "x & y", kIntegers, kNotDifferentiable, true, true},
    {"BitwiseOr", "x | y", kIntegers, kNotDifferentiable, true, true},
    {"BitwiseXor", "x ^ y", kIntegers, kNotDifferentiable, true, true},
    {"LeftShift", "x << y, y held within the width.", kIntegers, kNotDifferentiable, true},
    {"RightShift", "x >> y, y held within the width.", kIntegers, kNotDifferentiable, true},
};

Opcode opcode(const BinaryOpRow& row) {
  if (row.gradient == add_gradient) return Opcode::kAdd;
  if (row.gradient == sub_gradient) return Opcode::kSubtract;
  return row.gradient == mul_gradient ? Opcode::kMultiply : Opcode::kNone;
}

Linear linear(const BinaryOpRow& row) {
  if (row.gradient == add_gradient || row.gradient == sub_gradient) return Linear::kJointly;
  if (row.gradient == mul_gradient) return Linear::kEach;
  if (row.gradient == div_gradient || row.gradient == div_no_nan_gradient) return Linear::kFirst;
  return Linear::kNo;
}

}  // namespace

void define_binary(OpRegistry& ops) {
  for (const BinaryOpRow& row : kRows) {
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = {"x: T", "y: T"},
             .outputs = {"z: T"},
             .attrs = {row.types},
             .shape = broadcast_inputs,
             .gradient = row.gradient,
             .cost = row.cost,
             .known_ints = row.known_ints,
             .commutative = row.commutative,
             .elementwise = true,
             .linear = linear(row),
             .blocks_gradient = row.blocks_gradient,
             .opcode = opcode(row),
             .in_place = {{0, 0, true}, {1, 0, true}}});
  }
  ops.add({.name = "Atan2",
           .doc = "The angle of the point (x, y).",
           .inputs = {"y: T", "x: T"},
           .outputs = {"z: T"},
           .attrs = {kFloats},
           .shape = broadcast_inputs,
           .gradient = atan2_gradient,
           .cost = function_cost,
           .elementwise = true,
           .in_place = {{0, 0, true}, {1, 0, true}}});
  ops.add({.name = "Polygamma",
           .doc = "The a-th derivative of digamma.",
           .inputs = {"a: T", "x: T"},
           .outputs = {"z: T"},
           .attrs = {"T: {float, double}"},
           .shape = broadcast_inputs,
           .gradient = polygamma_gradient,
           .cost = function_cost,
           .elementwise = true,
           .in_place = {{0, 0, true}, {1, 0, true}}});
  ops.add({.name = "Zeta",
           .doc = "Hurwitz's zeta function: the sum of (q + k)^-x.",
           .inputs = {"x: T", "q: T"},
           .outputs = {"z: T"},
           .attrs = {"T: {float, double}"},
           .shape = broadcast_inputs,
           .gradient = zeta_gradient,
           .cost = function_cost,
           .elementwise = true,
           .in_place = {{0, 0, true}, {1, 0, true}}});
  ops.add({.name = "NextAfter",
           .doc = "The next representable number after x1 towards x2.",
           .inputs = {"x1: T", "x2: T"},
           .outputs = {"output: T"},
           .attrs = {"T: {double, float} = float"},
           .shape = broadcast_inputs,
           .gradient = next_after_gradient,
           .elementwise = true,
           .in_place = {{0, 0, true}, {1, 0, true}}});
}

}  // namespace argosy::elementwise
