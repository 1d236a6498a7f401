#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/functions/reference_spans.h"
#include "argosy/ops/elementwise/functions/scalar_functions.h"

namespace argosy::elementwise {

namespace {

std::vector<UnaryRow> make_rows() {
  std::vector<UnaryRow> rows;
#define ARGOSY_ROW(Name, Types, work) add_unary<scalar::Name>(rows, #Name, Types{}, Work::work);
  ARGOSY_ROW(Neg, FloatTypes, kArithmetic)
  ARGOSY_ROW(Neg, SignedTypes, kArithmetic)
  ARGOSY_ROW(Neg, ComplexTypes, kArithmetic)
  ARGOSY_ROW(Abs, FloatTypes, kArithmetic)
  ARGOSY_ROW(Abs, SignedTypes, kArithmetic)
  ARGOSY_ROW(Sign, FloatTypes, kArithmetic)
  ARGOSY_ROW(Sign, SignedTypes, kArithmetic)
  ARGOSY_ROW(Sign, ComplexTypes, kArithmetic)
  ARGOSY_ROW(Square, NumberTypes, kArithmetic)
  ARGOSY_ROW(Softsign, FloatTypes, kArithmetic)
  ARGOSY_ROW(Floor, FloatTypes, kArithmetic)
  ARGOSY_ROW(Ceil, FloatTypes, kArithmetic)
  ARGOSY_ROW(Rint, FloatTypes, kArithmetic)
  ARGOSY_ROW(Rint, SignedTypes, kArithmetic)
  ARGOSY_ROW(IsNan, FloatTypes, kArithmetic)
  ARGOSY_ROW(IsInf, FloatTypes, kArithmetic)
  ARGOSY_ROW(IsFinite, FloatTypes, kArithmetic)
  ARGOSY_ROW(Invert, IntegerTypes, kArithmetic)
  ARGOSY_ROW(PopulationCount, IntegerTypes, kArithmetic)
  ARGOSY_ROW(LogicalNot, TypeList<bool>, kArithmetic)
  ARGOSY_ROW(Erf, FloatTypes, kFunction)
  ARGOSY_ROW(Erfc, FloatTypes, kFunction)
  ARGOSY_ROW(Lgamma, FloatTypes, kFunction)
  ARGOSY_ROW(Digamma, FloatTypes, kFunction)
#define ARGOSY_FUNCTION(Name)             \
  ARGOSY_ROW(Name, FloatTypes, kFunction) \
  ARGOSY_ROW(Name, ComplexTypes, kFunction)
  ARGOSY_FUNCTION(Reciprocal)
  ARGOSY_FUNCTION(Sqrt)
  ARGOSY_FUNCTION(Rsqrt)
  ARGOSY_FUNCTION(Exp)
  ARGOSY_FUNCTION(Expm1)
  ARGOSY_FUNCTION(Log)
  ARGOSY_FUNCTION(Log1p)
  ARGOSY_FUNCTION(Sin)
  ARGOSY_FUNCTION(Cos)
  ARGOSY_FUNCTION(Tan)
  ARGOSY_FUNCTION(Asin)
  ARGOSY_FUNCTION(Acos)
  ARGOSY_FUNCTION(Atan)
  ARGOSY_FUNCTION(Sinh)
  ARGOSY_FUNCTION(Cosh)
  ARGOSY_FUNCTION(Tanh)
  ARGOSY_FUNCTION(Asinh)
  ARGOSY_FUNCTION(Acosh)
  ARGOSY_FUNCTION(Atanh)
  ARGOSY_FUNCTION(Sigmoid)
#undef ARGOSY_FUNCTION
#undef ARGOSY_ROW
  return rows;
}

}  // namespace

std::span<const UnaryRow> reference_unary_rows() {
  static const std::vector<UnaryRow>* const rows = new std::vector<UnaryRow>(make_rows());
  return *rows;
}

}  // namespace argosy::elementwise
