// Special functions that the standard library lacks, or has only in a form that is not thread-safe.
#pragma once

namespace argosy::scalar {

struct Lgamma {  // log |gamma(x)|; infinite at 0, -1, -2 …
  static float call(float x);
  static double call(double x);
};
struct Digamma {  // the derivative of lgamma; NaN at 0, -1, -2 …
  static float call(float x);
  static double call(double x);
};

struct Zeta {  // Hurwitz: the sum of (q + k)^-x over k = 0, 1, 2 …
  static float call(float x, float q);
  static double call(double x, double q);
};
struct Polygamma {  // the a-th derivative of digamma
  static float call(float a, float x);
  static double call(double a, double x);
};

}  // namespace argosy::scalar
