// Transcendental functions of float32 and float64, as vector functions. Highway's functions are valid in a range. For a
// vector with elements outside it (overflow, poles, NaN), the standard library computes the result.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/elementwise/functions/transcendental_spans_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>
#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/elementwise/functions/spans.inc"

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

// False for NaN.
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

// c[0] + c[1] t + c[2] t^2 + …
template <class D, class V, std::size_t n>
HWY_INLINE V polynomial(D d, V t, const float (&c)[n]) {
  V sum = hn::Set(d, c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) sum = hn::MulAdd(sum, t, hn::Set(d, c[i]));
  return sum;
}

template <class D, class V>
HWY_INLINE V at_most(D d, V x, float limit) {  // NaN stays
  const V bound = hn::Set(d, limit);
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
}

// float32 only, within 1.5 units in the last place. NaN passes through the polynomial. Coefficients: our own minimax
// fits of the weighted error, by Lawson's iteration with 40 digits.
struct FloatTanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V size = hn::Abs(x);
    const V t = hn::Mul(x, x);
    // x + x^3 p(x^2) below 0.55
    constexpr float kSmall[] = {-0.333333180437527f, 0.1333260162910431f, -0.0538538526297001f, 0.021077738294078243f,
                                -0.006282446890404612f};
    const V small = hn::MulAdd(x, hn::Mul(t, polynomial(d, t, kSmall)), x);
    // 1 - 2 / (exp(2 |x|) + 1) above
    const V one = hn::Set(d, 1.0f);
    const V e = hn::Exp(d, at_most(d, hn::Add(size, size), 20.0f));
    const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
    return hn::IfThenElse(hn::Ge(size, hn::Set(d, 0.55f)), hn::CopySign(large, x), hn::CopySign(small, x));
  }
};

struct FloatErf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V size = at_most(d, hn::Abs(x), 4.0f);
    const V t = hn::Mul(x, x);
    // x + x p(x^2) below 0.875
    constexpr float kSmall[] = {0.12837915749134776f,   -0.3761255046124504f,  0.11282455298927459f,
                                -0.026791461918447144f, 0.005032179664365423f, -0.0006203246525101451f};
    const V small = hn::MulAdd(x, polynomial(d, t, kSmall), x);
    // 1 - exp(q(|x| - 0.875)) above, exp(q) being erfc
    constexpr float kLog[] = {-1.5328244448590376f,   -2.4302189005946895f,  -0.8265538575231538f,
                              -0.04683477374475498f,  0.011193060609229219f, -0.002032529383307602f,
                              0.00019990555480052085f};
    const V e = hn::Exp(d, polynomial(d, hn::Sub(size, hn::Set(d, 0.875f)), kLog));
    const V large = hn::Sub(hn::Set(d, 1.0f), e);
    return hn::IfThenElse(hn::Ge(hn::Abs(x), hn::Set(d, 0.875f)), hn::CopySign(large, x), hn::CopySign(small, x));
  }
};

}  // namespace

std::span<const UnaryRow> math_rows_here() {
#define ARGOSY_ROW(Name)                                                 \
  {#Name, DType::kFloat32, vector_span<Name, float>, Work::kFunction}, { \
#Name, DType::kFloat64, vector_span < Name, double>, Work::kFunction \
  }
  static constexpr UnaryRow kRows[] = {
      ARGOSY_ROW(Exp),
      ARGOSY_ROW(Expm1),
      ARGOSY_ROW(Log),
      ARGOSY_ROW(Log1p),
      ARGOSY_ROW(Sin),
      ARGOSY_ROW(Cos),
      ARGOSY_ROW(Sinh),
      ARGOSY_ROW(Asin),
      ARGOSY_ROW(Acos),
      ARGOSY_ROW(Atan),
      ARGOSY_ROW(Asinh),
      ARGOSY_ROW(Acosh),
      ARGOSY_ROW(Atanh),
      ARGOSY_ROW(Sigmoid),
      {"Tanh", DType::kFloat32, vector_span<FloatTanh, float>, Work::kFunction},
      {"Tanh", DType::kFloat64, vector_span<Tanh, double>, Work::kFunction},
      {"Erf", DType::kFloat32, vector_span<FloatErf, float>, Work::kFunction},
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
