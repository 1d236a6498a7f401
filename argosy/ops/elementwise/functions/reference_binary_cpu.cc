#include <algorithm>

#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/functions/reference_spans.h"
#include "argosy/ops/elementwise/functions/scalar_functions.h"

namespace argosy::elementwise {

namespace {

Status no_zero_divisor(const Tensor& x, const Tensor& y) {
  if (x.elements() == 0) return ok_status();
  return dispatch<IntegerTypes>(y.dtype(), "integer division", [&]<typename T>() {
    const auto divisors = y.values<T>();
    const auto zero = std::find(divisors.begin(), divisors.end(), T(0));
    if (zero == divisors.end()) return ok_status();
    return invalid_argument("Integer division by zero: element ", zero - divisors.begin(), " of the divisor, ",
                            dtype_name(y.dtype()), y.shape(), ", is 0");
  });
}

Status no_negative_exponent(const Tensor& x, const Tensor& y) {
  if (x.elements() == 0) return ok_status();
  return dispatch<SignedTypes>(y.dtype(), "Pow", [&]<typename T>() {
    const auto exponents = y.values<T>();
    const auto negative = std::find_if(exponents.begin(), exponents.end(), [](T e) { return e < 0; });
    if (negative == exponents.end()) return ok_status();
    return invalid_argument("Pow: integers to negative integer powers are not allowed: element ",
                            negative - exponents.begin(), " of the exponents is ", +*negative);
  });
}

std::vector<BinaryRow> make_rows() {
  std::vector<BinaryRow> rows;
#define ARGOSY_ROW(Name, Types) add_binary<scalar::Name>(rows, #Name, Types{});
  ARGOSY_ROW(Add, NumberTypes)
  ARGOSY_ROW(Add, TypeList<std::string>)
  ARGOSY_ROW(Sub, NumberTypes)
  ARGOSY_ROW(Mul, NumberTypes)
  ARGOSY_ROW(SquaredDifference, NumberTypes)
  ARGOSY_ROW(Maximum, RealTypes)
  ARGOSY_ROW(Minimum, RealTypes)
  ARGOSY_ROW(BitwiseAnd, IntegerTypes)
  ARGOSY_ROW(BitwiseOr, IntegerTypes)
  ARGOSY_ROW(BitwiseXor, IntegerTypes)
  ARGOSY_ROW(LeftShift, IntegerTypes)
  ARGOSY_ROW(RightShift, IntegerTypes)
  ARGOSY_ROW(Less, RealTypes)
  ARGOSY_ROW(LessEqual, RealTypes)
  ARGOSY_ROW(Greater, RealTypes)
  ARGOSY_ROW(GreaterEqual, RealTypes)
  ARGOSY_ROW(LogicalAnd, TypeList<bool>)
  ARGOSY_ROW(LogicalOr, TypeList<bool>)
  using Comparable = TypeList<bool, std::string>;
  ARGOSY_ROW(Equal, NumberTypes)
  ARGOSY_ROW(Equal, Comparable)
  ARGOSY_ROW(NotEqual, NumberTypes)
  ARGOSY_ROW(NotEqual, Comparable)
  ARGOSY_ROW(SoftsignGrad, FloatTypes)
  using DoubleTypes = TypeList<float, double>;
  ARGOSY_ROW(NextAfter, DoubleTypes)
#define ARGOSY_CONTINUOUS(Name) \
  ARGOSY_ROW(Name, FloatTypes)  \
  ARGOSY_ROW(Name, ComplexTypes)
  ARGOSY_CONTINUOUS(Div)
  ARGOSY_CONTINUOUS(DivNoNan)
  ARGOSY_CONTINUOUS(MulNoNan)
  ARGOSY_CONTINUOUS(TanhGrad)
  ARGOSY_CONTINUOUS(SigmoidGrad)
  ARGOSY_CONTINUOUS(SqrtGrad)
  ARGOSY_CONTINUOUS(RsqrtGrad)
  ARGOSY_CONTINUOUS(ReciprocalGrad)
#undef ARGOSY_CONTINUOUS
#undef ARGOSY_ROW
#define ARGOSY_FUNCTION(Name, Types) add_binary<scalar::Name>(rows, #Name, Types{}, Work::kFunction);
  ARGOSY_FUNCTION(Zeta, DoubleTypes)
  ARGOSY_FUNCTION(Polygamma, DoubleTypes)
  ARGOSY_FUNCTION(FloorDiv, FloatTypes)
  ARGOSY_FUNCTION(FloorMod, FloatTypes)
  ARGOSY_FUNCTION(TruncateDiv, FloatTypes)
  ARGOSY_FUNCTION(TruncateMod, FloatTypes)
  ARGOSY_FUNCTION(Pow, FloatTypes)
  ARGOSY_FUNCTION(Pow, ComplexTypes)
  ARGOSY_FUNCTION(Atan2, FloatTypes)
  ARGOSY_FUNCTION(Xdivy, FloatTypes)
  ARGOSY_FUNCTION(Xdivy, ComplexTypes)
  ARGOSY_FUNCTION(Xlogy, FloatTypes)
  ARGOSY_FUNCTION(Xlogy, ComplexTypes)
  ARGOSY_FUNCTION(Xlog1py, FloatTypes)
  ARGOSY_FUNCTION(Xlog1py, ComplexTypes)
#undef ARGOSY_FUNCTION
#define ARGOSY_DIVISION(Name) add_binary<scalar::Name>(rows, #Name, IntegerTypes{}, Work::kArithmetic, no_zero_divisor);
  ARGOSY_DIVISION(Div)
  ARGOSY_DIVISION(FloorDiv)
  ARGOSY_DIVISION(FloorMod)
  ARGOSY_DIVISION(TruncateDiv)
  ARGOSY_DIVISION(TruncateMod)
#undef ARGOSY_DIVISION
  add_binary<scalar::Pow>(rows, "Pow", SignedTypes{}, Work::kFunction, no_negative_exponent);
  return rows;
}

}  // namespace

std::span<const BinaryRow> reference_binary_rows() {
  static const std::vector<BinaryRow>* const rows = new std::vector<BinaryRow>(make_rows());
  return *rows;
}

}  // namespace argosy::elementwise
