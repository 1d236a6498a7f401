// Arithmetic of complex numbers on a GPU, with the infinities and NaNs of C's complex numbers (C11, Annex G), as on
// the CPU. Infinity times or by a finite number is an infinity, not NaN. Functors are named as those of
// functions_cuda.h. For .cu files.
#pragma once

#include "argosy/device/cuda/kernels/kernel_source.h"

namespace argosy::cuda::complex_fn {

// The type of the real and imaginary parts of C.
template <typename C>
using Part = typename PartOf<C>::Type;

template <typename T>
ARGOSY_DEVICE T infinity() {
  return static_cast<T>(float_of_bits(0x7f800000u));
}
template <typename T>
ARGOSY_DEVICE bool is_nan(T x) {
  return x != x;
}
template <typename T>
ARGOSY_DEVICE bool is_inf(T x) {
  return x - x != T(0) && x == x;
}
template <typename T>
ARGOSY_DEVICE bool is_finite(T x) {
  return x - x == T(0);
}
template <typename C>
ARGOSY_DEVICE bool has_inf(C x) {
  return is_inf(x.re) || is_inf(x.im);
}
template <typename C>
ARGOSY_DEVICE bool is_zero(C x) {
  return x.re == 0 && x.im == 0;
}
// Replaces infinite parts by 1 and all others by 0, keeping signs: beside an infinite part, only its direction counts.
template <typename C>
ARGOSY_DEVICE C corner(C x) {
  using T = Part<C>;
  return {::copysign(is_inf(x.re) ? T(1) : T(0), x.re), ::copysign(is_inf(x.im) ? T(1) : T(0), x.im)};
}
// Replaces NaN parts by 0, keeping signs.
template <typename C>
ARGOSY_DEVICE C without_nan(C x) {
  using T = Part<C>;
  return {is_nan(x.re) ? ::copysign(T(0), x.re) : x.re, is_nan(x.im) ? ::copysign(T(0), x.im) : x.im};
}
template <typename C>
ARGOSY_DEVICE C plain_product(C x, C y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <typename C>
ARGOSY_DEVICE C scaled(C x, Part<C> by) {
  return {x.re * by, x.im * by};
}
template <typename C>
ARGOSY_DEVICE C conjugate(C x) {
  return {x.re, -x.im};
}

struct Neg {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return {-x.re, -x.im};
  }
};
struct Add {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    return {x.re + y.re, x.im + y.im};
  }
};
struct Sub {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    return {x.re - y.re, x.im - y.im};
  }
};
struct Mul {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    using T = Part<C>;
    const C z = plain_product(x, y);
    if (!is_nan(z.re) || !is_nan(z.im)) return z;
    bool again = false;
    if (has_inf(x)) {
      x = corner(x);
      y = without_nan(y);
      again = true;
    }
    if (has_inf(y)) {
      y = corner(y);
      x = without_nan(x);
      again = true;
    }
    // No operand is infinite, but a partial product overflowed.
    if (!again && (is_inf(x.re * y.re) || is_inf(x.im * y.im) || is_inf(x.re * y.im) || is_inf(x.im * y.re))) {
      x = without_nan(x);
      y = without_nan(y);
      again = true;
    }
    return again ? scaled(plain_product(x, y), infinity<T>()) : z;
  }
};
struct Div {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    using T = Part<C>;
    // Scales y to near 1 first, so that its square neither overflows nor underflows.
    const T most = ::fmax(::fabs(y.re), ::fabs(y.im));
    const bool scales = is_finite(most) && most > T(0);
    const int exponent = scales ? ::ilogb(most) : 0;
    const C d = {::scalbn(y.re, -exponent), ::scalbn(y.im, -exponent)};
    const T size = d.re * d.re + d.im * d.im;
    const C n = plain_product(x, conjugate(d));
    const C z = {::scalbn(n.re / size, -exponent), ::scalbn(n.im / size, -exponent)};
    if (!is_nan(z.re) || !is_nan(z.im)) return z;
    if (size == 0 && (!is_nan(x.re) || !is_nan(x.im))) return scaled(x, ::copysign(infinity<T>(), y.re));
    if (has_inf(x) && is_finite(y.re) && is_finite(y.im)) {
      return scaled(plain_product(corner(x), conjugate(y)), infinity<T>());
    }
    if (has_inf(y) && is_finite(x.re) && is_finite(x.im)) {
      return scaled(plain_product(x, conjugate(corner(y))), T(0));
    }
    return z;
  }
};
struct Square {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return Mul::call(x, x);
  }
};
struct Reciprocal {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return Div::call(C{1, 0}, x);
  }
};
struct DivNoNan {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    return is_zero(y) ? C{0, 0} : Div::call(x, y);
  }
};
struct MulNoNan {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    return is_zero(y) ? C{0, 0} : Mul::call(x, y);
  }
};
struct SquaredDifference {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    const C d = Sub::call(x, y);
    return Mul::call(conjugate(d), d);
  }
};
struct ReciprocalGrad {
  template <typename C>
  static ARGOSY_DEVICE C call(C y, C dy) {
    const C c = conjugate(y);
    return is_zero(dy) ? C{0, 0} : Mul::call(Mul::call(Neg::call(c), dy), c);
  }
};
// exp, by the real functions. For a real exponent (imaginary part 0), the sine is left out.
struct Exp {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    const Part<C> size = ::exp(x.re);
    return x.im == 0 ? C{size, x.im} : C{size * ::cos(x.im), size * ::sin(x.im)};
  }
};
// a * b, but 0 if a factor is 0, even beside infinity or NaN: a part that is zero stays zero.
template <typename T>
ARGOSY_DEVICE T along(T a, T b) {
  return a == T(0) ? a : b == T(0) ? b : a * b;
}
struct Sinh {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return {along(::sinh(x.re), ::cos(x.im)), along(::sin(x.im), ::cosh(x.re))};
  }
};
struct Cosh {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return {along(::cos(x.im), ::cosh(x.re)), along(::sin(x.im), ::sinh(x.re))};
  }
};
struct Sin {  // -i sinh(i x)
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return {along(::sin(x.re), ::cosh(x.im)), along(::sinh(x.im), ::cos(x.re))};
  }
};
struct Cos {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    return {along(::cos(x.re), ::cosh(x.im)), -along(::sin(x.re), ::sinh(x.im))};
  }
};
struct Tan {  // Abramowitz & Stegun 4.3.57; beyond 20 the hyperbolic functions have one value
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    using T = Part<C>;
    if (::fabs(x.im) > T(20)) return {T(0), ::copysign(T(1), x.im)};
    const T all = ::cos(T(2) * x.re) + ::cosh(T(2) * x.im);
    return {::sin(T(2) * x.re) / all, ::sinh(T(2) * x.im) / all};
  }
};
struct Sign {
  template <typename C>
  static ARGOSY_DEVICE C call(C x) {
    const Part<C> size = ::hypot(x.re, x.im);
    return size == 0 ? C{0, 0} : C{x.re / size, x.im / size};
  }
};
struct Xdivy {
  template <typename C>
  static ARGOSY_DEVICE C call(C x, C y) {
    return is_zero(x) ? C{0, 0} : Div::call(x, y);
  }
};
struct Equal {
  template <typename C>
  static ARGOSY_DEVICE bool call(C x, C y) {
    return x.re == y.re && x.im == y.im;
  }
};
struct NotEqual {
  template <typename C>
  static ARGOSY_DEVICE bool call(C x, C y) {
    return !Equal::call(x, y);
  }
};

}  // namespace argosy::cuda::complex_fn
