// Arithmetic, comparison and logic over the common dtypes: the scalar functions as loops, vectorised for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/elementwise/functions/arithmetic_spans_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/functions/functors_bits.h"
#include "argosy/ops/elementwise/functions/spans.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::elementwise {
namespace HWY_NAMESPACE {
namespace {

using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): this target's spans

// Results of the loops belong to this file and target alone.
template <class F>
struct Here {
  template <typename... T>
  static HWY_INLINE auto call(T... x) {
    return F::call(x...);
  }
};

}  // namespace

std::span<const UnaryRow> simple_unary_rows_here() {
#define ARGOSY_ROW(Name, T) \
  { #Name, dtype_of < T>(), loop_span < Here < scalar::Name>, T> }
#define ARGOSY_HALF(Name) \
  { #Name, DType::kBfloat16, half_span < Here < scalar::Name>> }
#define ARGOSY_FLOATS(Name) ARGOSY_ROW(Name, float), ARGOSY_ROW(Name, double)
  static constexpr UnaryRow kRows[] = {
      ARGOSY_FLOATS(Neg),        ARGOSY_FLOATS(Abs),      ARGOSY_FLOATS(Sign),          ARGOSY_FLOATS(Square),
      ARGOSY_FLOATS(Reciprocal), ARGOSY_FLOATS(Sqrt),     ARGOSY_FLOATS(Rsqrt),         ARGOSY_FLOATS(Floor),
      ARGOSY_FLOATS(Ceil),       ARGOSY_FLOATS(Rint),     ARGOSY_FLOATS(IsNan),         ARGOSY_FLOATS(IsInf),
      ARGOSY_FLOATS(IsFinite),   ARGOSY_FLOATS(Softsign), ARGOSY_ROW(LogicalNot, bool), ARGOSY_HALF(Neg),
      ARGOSY_HALF(Abs),          ARGOSY_HALF(Square),
  };
#undef ARGOSY_HALF
#undef ARGOSY_ROW
  return kRows;
}

std::span<const BinaryRow> simple_binary_rows_here() {
#define ARGOSY_ROW(Name, T) \
  { #Name, dtype_of < T>(), loop_spans < Here < scalar::Name>, T>() }
#define ARGOSY_HALF(Name) \
  { #Name, DType::kBfloat16, half_spans < Here < scalar::Name>>() }
#define ARGOSY_HALF_IS(Name) \
  { #Name, DType::kBfloat16, loop_spans < InFloat < Here < scalar::Name>>, bfloat16>() }
#define ARGOSY_COMMON(Name) ARGOSY_FLOATS(Name), ARGOSY_ROW(Name, std::int32_t), ARGOSY_ROW(Name, std::int64_t)
  static constexpr BinaryRow kRows[] = {
      ARGOSY_COMMON(Add),
      ARGOSY_COMMON(Sub),
      ARGOSY_COMMON(Mul),
      ARGOSY_COMMON(Maximum),
      ARGOSY_COMMON(Minimum),
      ARGOSY_COMMON(SquaredDifference),
      ARGOSY_FLOATS(Div),
      ARGOSY_FLOATS(DivNoNan),
      ARGOSY_FLOATS(MulNoNan),
      ARGOSY_FLOATS(TanhGrad),
      ARGOSY_FLOATS(SigmoidGrad),
      ARGOSY_FLOATS(SqrtGrad),
      ARGOSY_FLOATS(RsqrtGrad),
      ARGOSY_FLOATS(ReciprocalGrad),
      ARGOSY_FLOATS(SoftsignGrad),
      ARGOSY_COMMON(Equal),
      ARGOSY_COMMON(NotEqual),
      ARGOSY_COMMON(Less),
      ARGOSY_COMMON(LessEqual),
      ARGOSY_COMMON(Greater),
      ARGOSY_COMMON(GreaterEqual),
      ARGOSY_ROW(LogicalAnd, bool),
      ARGOSY_ROW(LogicalOr, bool),
      ARGOSY_HALF(Add),
      ARGOSY_HALF(Sub),
      ARGOSY_HALF(Mul),
      ARGOSY_HALF(Maximum),
      ARGOSY_HALF(Minimum),
      ARGOSY_HALF(SquaredDifference),
      ARGOSY_HALF(Div),
      ARGOSY_HALF_IS(Equal),
      ARGOSY_HALF_IS(NotEqual),
      ARGOSY_HALF_IS(Less),
      ARGOSY_HALF_IS(LessEqual),
      ARGOSY_HALF_IS(Greater),
      ARGOSY_HALF_IS(GreaterEqual),
  };
#undef ARGOSY_HALF
#undef ARGOSY_HALF_IS
#undef ARGOSY_ROW
  return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::elementwise {
HWY_EXPORT(simple_unary_rows_here);
HWY_EXPORT(simple_binary_rows_here);
std::span<const UnaryRow> simple_unary_rows() { return HWY_DYNAMIC_DISPATCH(simple_unary_rows_here)(); }
std::span<const BinaryRow> simple_binary_rows() { return HWY_DYNAMIC_DISPATCH(simple_binary_rows_here)(); }
}  // namespace argosy::elementwise
#endif
