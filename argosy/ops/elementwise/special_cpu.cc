#include "argosy/ops/elementwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace argosy::scalar {

// std::lgamma writes the sign to a global; the _r forms do not.
float Lgamma::call(float x) {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}
double Lgamma::call(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// Abramowitz & Stegun 6.3.5 (recurrence), 6.3.7 (reflection), 6.3.18 (asymptotic series in 1/x^2).
double Digamma::call(double x) {
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  double result = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // The tangent of the fraction alone: x itself may be huge.
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  const double r = 1 / (x * x);
  // B(2k) / 2k for k = 1 … 8.
  constexpr double kTerms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  double series = 0;
  for (int k = 7; k >= 0; --k) series = (series + kTerms[k]) * r;
  return result + std::log(x) - 0.5 / x - series;
}
float Digamma::call(float x) { return static_cast<float>(call(static_cast<double>(x))); }

}  // namespace argosy::scalar
