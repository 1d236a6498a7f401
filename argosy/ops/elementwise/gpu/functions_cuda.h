// Functors of the elementwise ops on a GPU, one element each: the twin of functors.h. nvcc, NVRTC and the host's
// compiler read it. Its text is also put before generated kernels, so it includes numbers.h alone. Functors have the
// names of the functions of elementwise_spans.h. They take the type that a dtype is computed in: float32 for 16-bit
// floats.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda::fn {

// The type that integers are computed in, so that they wrap around: unsigned, and at least as wide as int.
template <typename T>
struct Wrapping {
  using Type = u32;
};
template <>
struct Wrapping<i64> {
  using Type = u64;
};
template <>
struct Wrapping<u64> {
  using Type = u64;
};
template <>
struct Wrapping<f32> {
  using Type = f32;
};
template <>
struct Wrapping<f64> {
  using Type = f64;
};

#define ARGOSY_UNARY(Name, expression) \
  struct Name {                        \
    template <typename T>              \
    static ARGOSY_DEVICE T call(T x) { \
      return expression;               \
    }                                  \
  };
#define ARGOSY_BINARY(Name, expression)     \
  struct Name {                             \
    template <typename T>                   \
    static ARGOSY_DEVICE T call(T x, T y) { \
      return expression;                    \
    }                                       \
  };
#define ARGOSY_WRAPPING(Name, op)                                    \
  struct Name {                                                      \
    template <typename T>                                            \
    static ARGOSY_DEVICE T call(T x, T y) {                          \
      using U = typename Wrapping<T>::Type;                          \
      return static_cast<T>(static_cast<U>(x) op static_cast<U>(y)); \
    }                                                                \
  };
#define ARGOSY_UNARY_PREDICATE(Name, expression) \
  struct Name {                                  \
    template <typename T>                        \
    static ARGOSY_DEVICE bool call(T x) {        \
      return expression;                         \
    }                                            \
  };
#define ARGOSY_BINARY_PREDICATE(Name, expression) \
  struct Name {                                   \
    template <typename T>                         \
    static ARGOSY_DEVICE bool call(T x, T y) {    \
      return expression;                          \
    }                                             \
  };

// --- arithmetic
ARGOSY_WRAPPING(Add, +)
ARGOSY_WRAPPING(Sub, -)
ARGOSY_WRAPPING(Mul, *)
ARGOSY_UNARY(Neg, Sub::call(T(0), x))
template <>
ARGOSY_DEVICE f32 Neg::call<f32>(f32 x) {
  return -x;
}
template <>
ARGOSY_DEVICE f64 Neg::call<f64>(f64 x) {
  return -x;
}
ARGOSY_UNARY(Abs, x < T(0) ? Neg::call(x) : x == T(0) ? T(0) : x)
ARGOSY_UNARY(Sign, x > T(0) ? T(1) : x < T(0) ? T(-1) : T(x + T(0)))  // NaN stays, and -0 becomes 0
ARGOSY_UNARY(Square, Mul::call(x, x))
ARGOSY_UNARY(Reciprocal, T(1) / x)
ARGOSY_UNARY(Sqrt, ::sqrt(x))
ARGOSY_UNARY(Rsqrt, T(1) / ::sqrt(x))
ARGOSY_BINARY(Maximum, x < y || y != y ? y : x)
ARGOSY_BINARY(Minimum, y < x || y != y ? y : x)
ARGOSY_BINARY(SquaredDifference, Square::call(Sub::call(x, y)))
// True if x < 0. A template, since nvcc warns of a plain comparison for unsigned numbers.
template <typename T>
ARGOSY_DEVICE bool is_negative(T x) {
  return x < T(1) && x != T(0);
}
ARGOSY_DEVICE bool is_negative(f32 x) { return x < 0.0f; }
ARGOSY_DEVICE bool is_negative(f64 x) { return x < 0.0; }
// Integer quotient. Division by 0 gives 0, because a GPU kernel cannot fail. The lowest integer / -1 wraps around.
template <typename T>
ARGOSY_DEVICE T quotient(T x, T y) {
  if (y == T(0)) return T(0);
  return Kind<T>::is_signed && y == static_cast<T>(-1) ? Neg::call(x) : static_cast<T>(x / y);
}
ARGOSY_DEVICE f32 quotient(f32 x, f32 y) { return x / y; }
ARGOSY_DEVICE f64 quotient(f64 x, f64 y) { return x / y; }
template <typename T>
ARGOSY_DEVICE T remainder_of(T x, T y) {
  return y == T(0) || (Kind<T>::is_signed && y == static_cast<T>(-1)) ? T(0) : static_cast<T>(x % y);
}
ARGOSY_DEVICE f32 remainder_of(f32 x, f32 y) { return ::fmod(x, y); }
ARGOSY_DEVICE f64 remainder_of(f64 x, f64 y) { return ::fmod(x, y); }
template <typename T>
ARGOSY_DEVICE T floor_quotient(T x, T y) {
  const T q = quotient(x, y);
  return Kind<T>::is_signed && remainder_of(x, y) != T(0) && is_negative(x) != is_negative(y) ? static_cast<T>(q - T(1))
                                                                                              : q;
}
ARGOSY_DEVICE f32 floor_quotient(f32 x, f32 y) { return ::floor(x / y); }
ARGOSY_DEVICE f64 floor_quotient(f64 x, f64 y) { return ::floor(x / y); }
template <typename T>
ARGOSY_DEVICE T whole_quotient(T x, T y) {
  return quotient(x, y);
}
ARGOSY_DEVICE f32 whole_quotient(f32 x, f32 y) { return ::trunc(x / y); }
ARGOSY_DEVICE f64 whole_quotient(f64 x, f64 y) { return ::trunc(x / y); }
ARGOSY_BINARY(Div, quotient(x, y))
ARGOSY_BINARY(TruncateDiv, whole_quotient(x, y))
ARGOSY_BINARY(FloorDiv, floor_quotient(x, y))
ARGOSY_BINARY(TruncateMod, remainder_of(x, y))
struct FloorMod {
  template <typename T>
  static ARGOSY_DEVICE T call(T x, T y) {
    const T r = remainder_of(x, y);
    return r != T(0) && is_negative(r) != is_negative(y) ? static_cast<T>(r + y) : r;
  }
};
ARGOSY_BINARY(DivNoNan, y == T(0) ? T(0) : x / y)
ARGOSY_BINARY(MulNoNan, y == T(0) ? T(0) : x * y)

// --- functions
ARGOSY_UNARY(Exp, ::exp(x))
ARGOSY_UNARY(Expm1, ::expm1(x))
ARGOSY_UNARY(Log, ::log(x))
ARGOSY_UNARY(Log1p, ::log1p(x))
ARGOSY_UNARY(Sin, ::sin(x))
ARGOSY_UNARY(Cos, ::cos(x))
ARGOSY_UNARY(Tan, ::tan(x))
ARGOSY_UNARY(Asin, ::asin(x))
ARGOSY_UNARY(Acos, ::acos(x))
ARGOSY_UNARY(Atan, ::atan(x))
ARGOSY_UNARY(Sinh, ::sinh(x))
ARGOSY_UNARY(Cosh, ::cosh(x))
ARGOSY_UNARY(Tanh, ::tanh(x))
ARGOSY_UNARY(Asinh, ::asinh(x))
ARGOSY_UNARY(Acosh, ::acosh(x))
ARGOSY_UNARY(Atanh, ::atanh(x))
ARGOSY_UNARY(Erf, ::erf(x))
ARGOSY_UNARY(Erfc, ::erfc(x))
ARGOSY_UNARY(Lgamma, ::lgamma(x))
// digamma by the recurrence up to 10, the asymptotic series beyond, and the reflection below 0 (Abramowitz & Stegun
// 6.3.5, 6.3.7, 6.3.18). NaN at 0, -1, -2 …
template <typename T>
ARGOSY_DEVICE T digamma(T x) {
  T sum = T(0);
  if (x <= T(0)) {
    if (x == ::floor(x)) return x - x == T(0) ? (x - x) / (x - x) : x - x;
    constexpr T kPi = T(3.14159265358979323846264338327950288);
    const T part = x - ::round(x);  // x - floor(x) is 1 for a tiny x
    sum = -kPi / ::tan(kPi * part);
    x = T(1) - x;
  }
  for (; x < T(10); x += T(1)) sum -= T(1) / x;
  const T y = T(1) / (x * x);
  const T series =
      y * (T(1) / T(12) - y * (T(1) / T(120) - y * (T(1) / T(252) - y * (T(1) / T(240) - y * (T(1) / T(132))))));
  return sum + ::log(x) - T(0.5) / x - series;
}
ARGOSY_UNARY(Digamma, digamma(x))
ARGOSY_UNARY(Floor, ::floor(x))
ARGOSY_UNARY(Ceil, ::ceil(x))
ARGOSY_UNARY(Rint, ::rint(x))  // ties to even
ARGOSY_UNARY(Sigmoid, T(1) / (T(1) + ::exp(-x)))
ARGOSY_UNARY(Softsign, x / (T(1) + ::fabs(x)))
// Integer power; a negative exponent gives 0.
template <typename T>
ARGOSY_DEVICE T power(T x, T y) {
  if (y < T(0)) return T(0);
  T all = T(1);
  for (T base = x, n = y; n > T(0); n = static_cast<T>(n / T(2)), base = Mul::call(base, base)) {
    if (n % T(2) != T(0)) all = Mul::call(all, base);
  }
  return all;
}
ARGOSY_DEVICE f32 power(f32 x, f32 y) { return ::pow(x, y); }
ARGOSY_DEVICE f64 power(f64 x, f64 y) { return ::pow(x, y); }
ARGOSY_BINARY(Pow, power(x, y))
ARGOSY_BINARY(Atan2, ::atan2(x, y))
ARGOSY_BINARY(NextAfter, ::nextafter(x, y))
ARGOSY_BINARY(Xdivy, x == T(0) ? T(0) : x / y)
ARGOSY_BINARY(Xlogy, x == T(0) ? T(0) : x * ::log(y))
ARGOSY_BINARY(Xlog1py, x == T(0) ? T(0) : x * ::log1p(y))

// --- activations (argosy/ops/activation/activation_functors.h)
ARGOSY_UNARY(Relu, x < T(0) ? T(0) : x)  // NaN stays
ARGOSY_UNARY(Relu6, x<T(0) ? T(0) : x> T(6) ? T(6) : x)
ARGOSY_UNARY(Elu, x < T(0) ? ::expm1(x) : x)
ARGOSY_UNARY(Selu,
             x < T(0) ? T(1.7580993408473768599402175208123) * ::expm1(x) : T(1.0507009873554804934193349852946) * x)
ARGOSY_UNARY(Softplus, (x < T(0) ? T(0) : x) + ::log1p(::exp(-::fabs(x))))

// --- gradients, with operands in the order of the ops: the output x and its gradient y; for activations, the gradient,
// then features or outputs
ARGOSY_BINARY(TanhGrad, y*(T(1) - x * x))
ARGOSY_BINARY(SigmoidGrad, y* x*(T(1) - x))
ARGOSY_BINARY(SqrtGrad, y == T(0) ? T(0) : T(0.5) * y / x)
ARGOSY_BINARY(RsqrtGrad, y == T(0) ? T(0) : T(-0.5) * (y * x) * (x * x))
ARGOSY_BINARY(ReciprocalGrad, y == T(0) ? T(0) : -x * y * x)
ARGOSY_BINARY(SoftsignGrad, x / ((T(1) + ::fabs(y)) * (T(1) + ::fabs(y))))
ARGOSY_BINARY(ReluGrad, x*(y > T(0) ? T(1) : T(0)))
ARGOSY_BINARY(Relu6Grad, x*(y > T(0) && y < T(6) ? T(1) : T(0)))
ARGOSY_BINARY(EluGrad, y < T(0) ? (y + T(1)) * x : x)
ARGOSY_BINARY(SeluGrad, x*(y < T(0) ? y + T(1.7580993408473768599402175208123) : T(1.0507009873554804934193349852946)))
ARGOSY_BINARY(SoftplusGrad, x / (::exp(-y) + T(1)))

// --- bits
ARGOSY_UNARY(Invert, static_cast<T>(~x))
ARGOSY_BINARY(BitwiseAnd, static_cast<T>(x& y))
ARGOSY_BINARY(BitwiseOr, static_cast<T>(x | y))
ARGOSY_BINARY(BitwiseXor, static_cast<T>(x ^ y))
// The shift distance, clamped to the type's width.
template <typename T>
ARGOSY_DEVICE int shift_distance(T y) {
  constexpr int kMost = static_cast<int>(8 * sizeof(T)) - 1;
  if (y < T(1)) return 0;
  return y > T(kMost) ? kMost : static_cast<int>(y);
}
ARGOSY_BINARY(LeftShift, static_cast<T>(static_cast<typename Wrapping<T>::Type>(x) << shift_distance(y)))
ARGOSY_BINARY(RightShift, static_cast<T>(x >> shift_distance(y)))

// --- predicates
ARGOSY_UNARY_PREDICATE(IsNan, x != x)
ARGOSY_UNARY_PREDICATE(IsInf, x - x != T(0) && x == x)
ARGOSY_UNARY_PREDICATE(IsFinite, x - x == T(0))
ARGOSY_UNARY_PREDICATE(LogicalNot, !x)
ARGOSY_BINARY_PREDICATE(LogicalAnd, x&& y)
ARGOSY_BINARY_PREDICATE(LogicalOr, x || y)
ARGOSY_BINARY_PREDICATE(Equal, x == y)
ARGOSY_BINARY_PREDICATE(NotEqual, !(x == y))
ARGOSY_BINARY_PREDICATE(Less, x < y)
ARGOSY_BINARY_PREDICATE(LessEqual, x <= y)
ARGOSY_BINARY_PREDICATE(Greater, x > y)
ARGOSY_BINARY_PREDICATE(GreaterEqual, x >= y)

#undef ARGOSY_UNARY
#undef ARGOSY_BINARY
#undef ARGOSY_WRAPPING
#undef ARGOSY_UNARY_PREDICATE
#undef ARGOSY_BINARY_PREDICATE

}  // namespace argosy::cuda::fn
