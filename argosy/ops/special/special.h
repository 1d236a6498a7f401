// Special functions, element by element, as tf.math and tf.math.special have them.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

Value erfinv(Value x);  // the inverse of erf, on [-1, 1]
Value ndtri(Value x);   // the inverse of the standard normal distribution function, on [0, 1]

// The lower and the upper regularized incomplete gamma function. The lower one is the distribution function of Gamma(a,
// 1).
Value igamma(Value a, Value x);
Value igammac(Value a, Value x);  // 1 - igamma(a, x)
// The regularized incomplete beta function. All shapes are equal, or scalar.
Value betainc(Value a, Value b, Value x);

// Bessel functions of order 0 and 1: of the first kind (J, modified: I) and of the second (Y, modified: K). Those with
// an e are scaled: exp(-|x|) * i0(x), exp(x) * k0(x).
Value bessel_i0(Value x);
Value bessel_i0e(Value x);  // exp(-|x|) * i0(x)
Value bessel_i1(Value x);   // of order 1
Value bessel_i1e(Value x);  // exp(-|x|) * i1(x)
Value bessel_j0(Value x);   // of the first kind, order 0
Value bessel_j1(Value x);   // of the first kind, order 1
Value bessel_k0(Value x);   // modified, of the second kind, order 0
Value bessel_k0e(Value x);  // exp(x) * k0(x)
Value bessel_k1(Value x);   // modified, of the second kind, order 1
Value bessel_k1e(Value x);  // exp(x) * k1(x)
Value bessel_y0(Value x);   // of the second kind, order 0
Value bessel_y1(Value x);   // of the second kind, order 1

Value dawsn(Value x);        // exp(-x²) * the integral of exp(t²) from 0 to x
Value expint(Value x);       // the exponential integral Ei, x > 0
Value fresnel_cos(Value x);  // the integral of cos(π t² / 2) from 0 to x
Value fresnel_sin(Value x);  // the integral of sin(π t² / 2) from 0 to x
Value spence(Value x);       // the integral of log(t) / (1 - t) from 1 to x, the dilogarithm of 1 - x

}  // namespace argosy
