// Transcendental functions of float32 and float64, a vector at a time. Highway's own hold within a range; outside it
// (overflow, poles, NaN) the standard library answers, for the vector that needs it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/elementwise/math_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>
#include "argosy/ops/elementwise/functors.h"
#include "argosy/ops/elementwise/rows.h"
#include "argosy/ops/elementwise/spans.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::elementwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): this target's spans

// F: valid(d, x), a mask; fast(d, x) where it holds; exact(x) elsewhere.
template <class F>
struct Guarded {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if (HWY_LIKELY(hn::AllTrue(d, F::valid(d, x)))) return F::fast(d, x);
    using T = hn::TFromD<D>;
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(x, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = F::exact(lanes[i]);
    return hn::Load(d, lanes);
  }
};

template <typename T>
constexpr T pick(float f, double d) {
  if constexpr (sizeof(T) == 4) {
    return f;
  } else {
    return d;
  }
}

// NaN is in no range.
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE auto within(D d, V x, T low, T high) {
  return hn::And(hn::Ge(x, hn::Set(d, low)), hn::Le(x, hn::Set(d, high)));
}

#define ARGOSY_GUARDED(Name, low32, low64, high32, high64)                 \
  struct Name##Function {                                                  \
    template <class D, class V>                                            \
    static HWY_INLINE auto valid(D d, V x) {                               \
      using T = hn::TFromD<D>;                                             \
      return within(d, x, pick<T>(low32, low64), pick<T>(high32, high64)); \
    }                                                                      \
    template <class D, class V>                                            \
    static HWY_INLINE V fast(D d, V x) {                                   \
      return hn::Name(d, x);                                               \
    }                                                                      \
    template <typename T>                                                  \
    static T exact(T x) {                                                  \
      return scalar::Name::call(x);                                        \
    }                                                                      \
  };                                                                       \
  using Name = Guarded<Name##Function>;

ARGOSY_GUARDED(Exp, -HUGE_VALF, -HUGE_VAL, 88.0f, 706.0)
ARGOSY_GUARDED(Expm1, -HUGE_VALF, -HUGE_VAL, 88.0f, 706.0)
ARGOSY_GUARDED(Log, 0x1p-126f, 0x1p-1022, 0x1.fffffep127f, 0x1.fffffffffffffp1023)
ARGOSY_GUARDED(Log1p, -0.99f, -0.99, 0x1.fffffep126f, 0x1.fffffffffffffp1022)
ARGOSY_GUARDED(Sin, -39000.0f, -39000.0, 39000.0f, 39000.0)
ARGOSY_GUARDED(Cos, -39000.0f, -39000.0, 39000.0f, 39000.0)
ARGOSY_GUARDED(Tanh, -HUGE_VALF, -HUGE_VAL, HUGE_VALF, HUGE_VAL)
ARGOSY_GUARDED(Sinh, -88.0f, -706.0, 88.0f, 706.0)
ARGOSY_GUARDED(Asin, -1.0f, -1.0, 1.0f, 1.0)
ARGOSY_GUARDED(Acos, -1.0f, -1.0, 1.0f, 1.0)
ARGOSY_GUARDED(Atan, -HUGE_VALF, -HUGE_VAL, HUGE_VALF, HUGE_VAL)
ARGOSY_GUARDED(Asinh, -1e18f, -1e150, 1e18f, 1e150)
ARGOSY_GUARDED(Acosh, 1.0f, 1.0, 1e18f, 1e150)
ARGOSY_GUARDED(Atanh, -0.9999f, -0.9999, 0.9999f, 0.9999)
#undef ARGOSY_GUARDED

struct SigmoidFunction {
  template <class D, class V>
  static HWY_INLINE auto valid(D d, V x) {
    using T = hn::TFromD<D>;
    return hn::Ge(x, hn::Set(d, pick<T>(-88.0f, -706.0)));
  }
  template <class D, class V>
  static HWY_INLINE V fast(D d, V x) {
    const auto one = hn::Set(d, 1);
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
  }
  template <typename T>
  static T exact(T x) {
    return scalar::Sigmoid::call(x);
  }
};
using Sigmoid = Guarded<SigmoidFunction>;

}  // namespace

std::span<const UnaryRow> math_rows_here() {
#define ARGOSY_ROW(Name)                                                 \
  {#Name, DType::kFloat32, vector_span<Name, float>, Work::kFunction}, { \
#Name, DType::kFloat64, vector_span < Name, double>, Work::kFunction \
  }
  static constexpr UnaryRow kRows[] = {
      ARGOSY_ROW(Exp),  ARGOSY_ROW(Expm1), ARGOSY_ROW(Log),   ARGOSY_ROW(Log1p), ARGOSY_ROW(Sin),
      ARGOSY_ROW(Cos),  ARGOSY_ROW(Tanh),  ARGOSY_ROW(Sinh),  ARGOSY_ROW(Asin),  ARGOSY_ROW(Acos),
      ARGOSY_ROW(Atan), ARGOSY_ROW(Asinh), ARGOSY_ROW(Acosh), ARGOSY_ROW(Atanh), ARGOSY_ROW(Sigmoid),
  };
#undef ARGOSY_ROW
  return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::elementwise {
HWY_EXPORT(math_rows_here);
std::span<const UnaryRow> math_rows() { return HWY_DYNAMIC_DISPATCH(math_rows_here)(); }
}  // namespace argosy::elementwise
#endif
