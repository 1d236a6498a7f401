// Functors of the elementwise ops: each computes one element as TensorFlow defines it, corner cases included. T is
// float, double, an integer, bool or std::complex; 16-bit floats are computed in float (compute_t).
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "argosy/tensor/bits16.h"

namespace argosy::scalar {

template <typename T>
constexpr bool is_complex_v = false;
template <typename T>
constexpr bool is_complex_v<std::complex<T>> = true;

template <typename T>
using compute_t = std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;

// The type that integers are computed in, so that they wrap around on overflow: unsigned, and at least as wide as int.
template <typename T>
using wrapping_t = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <typename T, typename F>
T wrapping(T x, T y, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = wrapping_t<T>;
    return static_cast<T>(f(static_cast<U>(x), static_cast<U>(y)));
  } else {
    return f(x, y);
  }
}

template <typename T>
T conjugate(T x) {
  if constexpr (is_complex_v<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// --- arithmetic ------------------------------------------------------------------------------------------------------

struct Neg {
  template <typename T>
  static T call(T x) {
    return wrapping(T(0), x, [](auto, auto b) { return -b; });
  }
};
struct Abs {
  template <typename T>
  static T call(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? Neg::call(x) : x;
    } else {
      return std::abs(x);
    }
  }
};
struct Sign {
  template <typename T>
  static T call(T x) {
    if constexpr (is_complex_v<T>) {
      const auto size = std::abs(x);
      return size == 0 ? T(0) : x / size;
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : static_cast<T>(x + T(0));  // NaN stays, and -0 becomes 0
    }
  }
};
struct Square {
  template <typename T>
  static T call(T x) {
    return wrapping(x, x, [](auto a, auto b) { return a * b; });
  }
};
struct Reciprocal {
  template <typename T>
  static T call(T x) {
    return T(1) / x;
  }
};
struct Sqrt {
  template <typename T>
  static T call(T x) {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <typename T>
  static T call(T x) {
    return T(1) / std::sqrt(x);
  }
};
struct Add {
  template <typename T>
  static T call(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a + b; });
  }
};
struct Sub {
  template <typename T>
  static T call(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a - b; });
  }
};
struct Mul {
  template <typename T>
  static T call(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a * b; });
  }
};
struct SquaredDifference {
  template <typename T>
  static T call(T x, T y) {
    const T d = Sub::call(x, y);
    return Mul::call(conjugate(d), d);
  }
};
struct Maximum {
  template <typename T>
  static T call(T x, T y) {
    return x < y || y != y ? y : x;
  }
};
struct Minimum {
  template <typename T>
  static T call(T x, T y) {
    return y < x || y != y ? y : x;
  }
};

// --- division: REQUIRES y != 0 for integers, whose kernels look first
// --------------------------------------------------

struct Div {  // integers: towards zero
  template <typename T>
  static T call(T x, T y) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (y == -1) return Neg::call(x);  // the lowest integer / -1 does not fit
    }
    return static_cast<T>(x / y);
  }
};
struct TruncateDiv {
  template <typename T>
  static T call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(x / y);
    } else {
      return Div::call(x, y);
    }
  }
};
struct TruncateMod {
  template <typename T>
  static T call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (y == -1) return 0;
      }
      return static_cast<T>(x % y);
    }
  }
};
struct FloorDiv {
  template <typename T>
  static T call(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else {
      const T q = Div::call(x, y);
      return std::is_signed_v<T> && TruncateMod::call(x, y) != 0 && (x < 0) != (y < 0) ? static_cast<T>(q - 1) : q;
    }
  }
};
struct FloorMod {
  template <typename T>
  static T call(T x, T y) {
    const T r = TruncateMod::call(x, y);
    return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  }
};
struct DivNoNan {
  template <typename T>
  static T call(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};
struct MulNoNan {
  template <typename T>
  static T call(T x, T y) {
    return y == T(0) ? T(0) : x * y;
  }
};

// --- powers and functions
// ----------------------------------------------------------------------------------------------

struct Pow {  // REQUIRES y >= 0 for integers
  template <typename T>
  static T call(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      T power = 1;
      for (T base = x, n = y; n > 0; n = static_cast<T>(n >> 1), base = Square::call(base)) {
        if (n & 1) power = Mul::call(power, base);
      }
      return power;
    } else {
      return std::pow(x, y);
    }
  }
};
struct Xdivy {
  template <typename T>
  static T call(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};
struct Xlogy {
  template <typename T>
  static T call(T x, T y) {
    return x == T(0) ? T(0) : x * std::log(y);
  }
};
struct Log1p {
  template <typename T>
  static T call(T x) {
    if constexpr (is_complex_v<T>) {
      return std::log(T(1) + x);
    } else {
      return std::log1p(x);
    }
  }
};
struct Xlog1py {
  template <typename T>
  static T call(T x, T y) {
    return x == T(0) ? T(0) : x * Log1p::call(y);
  }
};
struct Expm1 {
  template <typename T>
  static T call(T x) {
    if constexpr (is_complex_v<T>) {
      return std::exp(x) - T(1);
    } else {
      return std::expm1(x);
    }
  }
};
struct Sigmoid {
  template <typename T>
  static T call(T x) {
    return T(1) / (T(1) + std::exp(-x));
  }
};
struct Softsign {
  template <typename T>
  static T call(T x) {
    return x / (T(1) + std::abs(x));
  }
};
struct Rint {  // ties to even
  template <typename T>
  static T call(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::nearbyint(x);
    }
  }
};
#define ARGOSY_STANDARD_FUNCTION(Name, function) \
  struct Name {                                  \
    template <typename T>                        \
    static T call(T x) {                         \
      return function(x);                        \
    }                                            \
  };
ARGOSY_STANDARD_FUNCTION(Exp, std::exp)
ARGOSY_STANDARD_FUNCTION(Log, std::log)
ARGOSY_STANDARD_FUNCTION(Sin, std::sin)
ARGOSY_STANDARD_FUNCTION(Cos, std::cos)
ARGOSY_STANDARD_FUNCTION(Tan, std::tan)
ARGOSY_STANDARD_FUNCTION(Asin, std::asin)
ARGOSY_STANDARD_FUNCTION(Acos, std::acos)
ARGOSY_STANDARD_FUNCTION(Atan, std::atan)
ARGOSY_STANDARD_FUNCTION(Sinh, std::sinh)
ARGOSY_STANDARD_FUNCTION(Cosh, std::cosh)
ARGOSY_STANDARD_FUNCTION(Tanh, std::tanh)
ARGOSY_STANDARD_FUNCTION(Asinh, std::asinh)
ARGOSY_STANDARD_FUNCTION(Acosh, std::acosh)
ARGOSY_STANDARD_FUNCTION(Atanh, std::atanh)
ARGOSY_STANDARD_FUNCTION(Erf, std::erf)
ARGOSY_STANDARD_FUNCTION(Erfc, std::erfc)
ARGOSY_STANDARD_FUNCTION(Floor, std::floor)
ARGOSY_STANDARD_FUNCTION(Ceil, std::ceil)
#undef ARGOSY_STANDARD_FUNCTION

struct Atan2 {
  template <typename T>
  static T call(T y, T x) {
    return std::atan2(y, x);
  }
};
struct NextAfter {
  template <typename T>
  static T call(T x, T y) {
    return std::nextafter(x, y);
  }
};

// --- gradients, from the output y and its gradient dy
// ----------------------------------------------------------

// For complex numbers, the caller of the first two passes y conjugated; the others conjugate it themselves.
struct TanhGrad {
  template <typename T>
  static T call(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  static T call(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};
// If dy is 0, the next three return 0 for any y, as in TensorFlow; 0 / 0 is not NaN there.
struct SqrtGrad {
  template <typename T>
  static T call(T y, T dy) {
    return dy == T(0) ? T(0) : T(0.5) * dy / conjugate(y);
  }
};
struct RsqrtGrad {
  template <typename T>
  static T call(T y, T dy) {
    const T c = conjugate(y);
    return dy == T(0) ? T(0) : T(-0.5) * (dy * c) * (c * c);
  }
};
struct ReciprocalGrad {
  template <typename T>
  static T call(T y, T dy) {
    const T c = conjugate(y);
    return dy == T(0) ? T(0) : -c * dy * c;
  }
};
struct SoftsignGrad {
  template <typename T>
  static T call(T dy, T x) {
    const T d = T(1) + std::abs(x);
    return dy / (d * d);
  }
};

}  // namespace argosy::scalar
