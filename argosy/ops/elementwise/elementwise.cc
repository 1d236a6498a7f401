#include "argosy/ops/elementwise/elementwise.h"

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise_registration.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_elementwise_ops(OpRegistry& ops) {
  elementwise::define_unary(ops);
  elementwise::define_binary(ops);
  elementwise::define_comparison(ops);
  elementwise::define_sums_and_checks(ops);
  elementwise::define_fused(ops);
}

void define_elementwise(OpRegistry& ops) {
  with_sharding(ops, add_elementwise_ops,
                {{"Exp", "i.. -> i..; monotone 0"},
                 {"TanhGrad", "i.., i.. -> i..; linear 1"},
                 {"SigmoidGrad", "i.., i.. -> i..; linear 1"},
                 {"SqrtGrad", "i.., i.. -> i..; linear 1"},
                 {"RsqrtGrad", "i.., i.. -> i..; linear 1"},
                 {"ReciprocalGrad", "i.., i.. -> i..; linear 1"},
                 {"InvGrad", "i.., i.. -> i..; linear 1"},
                 {"Maximum", "i.., i.. -> i..; monotone 0 1; broadcasts"},
                 {"Minimum", "i.., i.. -> i..; monotone 0 1; broadcasts"},
                 {"CheckNumerics", "i.. -> i.."},
                 {"CheckNumericsV2", "i.. -> i.."}});
}

namespace {

Value one(std::string_view op, Value x) { return x.valid() ? x.graph().add(op, {x}) : Value(); }

// Returns the number as a constant of the dtype of `beside`.
Value as_value(const Operand& operand, Value beside) {
  return operand.is_number() ? constant_like(beside, operand.number()) : operand.value();
}

// Two numbers belong to no graph: returns an invalid value, as after any error.
Value two(std::string_view op, const Operand& x, const Operand& y) {
  const Value beside = x.is_number() ? y.value() : x.value();
  if (!beside.valid()) return {};
  return beside.graph().add(op, {as_value(x, beside), as_value(y, beside)});
}

}  // namespace

#define ARGOSY_UNARY(function, op) \
  Value function(Value x) { return one(op, x); }
ARGOSY_UNARY(neg, "Neg")
ARGOSY_UNARY(sign, "Sign")
ARGOSY_UNARY(square, "Square")
ARGOSY_UNARY(sqrt, "Sqrt")
ARGOSY_UNARY(rsqrt, "Rsqrt")
ARGOSY_UNARY(reciprocal, "Reciprocal")
ARGOSY_UNARY(exp, "Exp")
ARGOSY_UNARY(expm1, "Expm1")
ARGOSY_UNARY(log, "Log")
ARGOSY_UNARY(log1p, "Log1p")
ARGOSY_UNARY(sin, "Sin")
ARGOSY_UNARY(cos, "Cos")
ARGOSY_UNARY(tan, "Tan")
ARGOSY_UNARY(asin, "Asin")
ARGOSY_UNARY(acos, "Acos")
ARGOSY_UNARY(atan, "Atan")
ARGOSY_UNARY(sinh, "Sinh")
ARGOSY_UNARY(cosh, "Cosh")
ARGOSY_UNARY(tanh, "Tanh")
ARGOSY_UNARY(asinh, "Asinh")
ARGOSY_UNARY(acosh, "Acosh")
ARGOSY_UNARY(atanh, "Atanh")
ARGOSY_UNARY(sigmoid, "Sigmoid")
ARGOSY_UNARY(softsign, "Softsign")
ARGOSY_UNARY(erf, "Erf")
ARGOSY_UNARY(erfc, "Erfc")
ARGOSY_UNARY(lgamma, "Lgamma")
ARGOSY_UNARY(digamma, "Digamma")
ARGOSY_UNARY(floor, "Floor")
ARGOSY_UNARY(ceil, "Ceil")
ARGOSY_UNARY(round, "Round")
ARGOSY_UNARY(is_nan, "IsNan")
ARGOSY_UNARY(is_inf, "IsInf")
ARGOSY_UNARY(is_finite, "IsFinite")
ARGOSY_UNARY(logical_not, "LogicalNot")
ARGOSY_UNARY(invert, "Invert")
#undef ARGOSY_UNARY

Value abs(Value x) {
  if (!is_complex(x.dtype())) return one("Abs", x);
  return x.graph().add("ComplexAbs", {x},
                       {{"Tout", x.dtype() == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64}});
}

#define ARGOSY_BINARY(function, op) \
  Value function(Operand x, Operand y) { return two(op, x, y); }
ARGOSY_BINARY(add, "AddV2")
ARGOSY_BINARY(subtract, "Sub")
ARGOSY_BINARY(multiply, "Mul")
ARGOSY_BINARY(div_no_nan, "DivNoNan")
ARGOSY_BINARY(multiply_no_nan, "MulNoNan")
ARGOSY_BINARY(floor_div, "FloorDiv")
ARGOSY_BINARY(floor_mod, "FloorMod")
ARGOSY_BINARY(truncate_div, "TruncateDiv")
ARGOSY_BINARY(truncate_mod, "TruncateMod")
ARGOSY_BINARY(maximum, "Maximum")
ARGOSY_BINARY(minimum, "Minimum")
ARGOSY_BINARY(pow, "Pow")
ARGOSY_BINARY(squared_difference, "SquaredDifference")
ARGOSY_BINARY(atan2, "Atan2")
ARGOSY_BINARY(xdivy, "Xdivy")
ARGOSY_BINARY(xlogy, "Xlogy")
ARGOSY_BINARY(xlog1py, "Xlog1py")
ARGOSY_BINARY(bitwise_and, "BitwiseAnd")
ARGOSY_BINARY(bitwise_or, "BitwiseOr")
ARGOSY_BINARY(bitwise_xor, "BitwiseXor")
ARGOSY_BINARY(left_shift, "LeftShift")
ARGOSY_BINARY(right_shift, "RightShift")
ARGOSY_BINARY(equal, "Equal")
ARGOSY_BINARY(not_equal, "NotEqual")
ARGOSY_BINARY(less, "Less")
ARGOSY_BINARY(less_equal, "LessEqual")
ARGOSY_BINARY(greater, "Greater")
ARGOSY_BINARY(greater_equal, "GreaterEqual")
#undef ARGOSY_BINARY

Value divide(Operand x, Operand y) {
  const Value beside = x.is_number() ? y.value() : x.value();
  return two(is_integer(beside.dtype()) ? "Div" : "RealDiv", x, y);
}
Value logical_and(Value x, Value y) { return two("LogicalAnd", x, y); }
Value logical_or(Value x, Value y) { return two("LogicalOr", x, y); }
Value logical_xor(Value x, Value y) { return logical_and(logical_or(x, y), logical_not(logical_and(x, y))); }

}  // namespace argosy
