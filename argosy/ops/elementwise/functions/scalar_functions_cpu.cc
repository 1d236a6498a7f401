#include "argosy/ops/elementwise/functions/scalar_functions.h"

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
    // The tangent of what x is off the next integer alone: x may be huge, and x + 1 is 1 for a tiny one.
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::round(x)));
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

// Euler-Maclaurin: the first terms directly; the rest as an integral, half a term and corrections.
double Zeta::call(double x, double q) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (x == 1) return kInf;
  if (!(x > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return x == std::floor(x) && std::fmod(x, 2) == 0 ? kInf : kNan;
    if (x != std::floor(x)) return kNan;
    // The terms below zero are those of -q counted down to its fraction: two sums, however far q is.
    const double fraction = q - std::floor(q);
    const double below = call(x, std::ceil(q) - q) - call(x, 1 - q);
    return call(x, fraction) + (std::fmod(x, 2) == 0 ? below : -below);
  }
  if (std::isinf(x)) return q > 1 ? 0 : q < 1 ? kInf : q == 1 ? 1 : kNan;  // q^-x is all there is
  if (std::isinf(q)) return 0;
  double sum = 0;
  for (int k = 0; k < 9 || q <= 9; ++k, ++q) sum += std::pow(q, -x);
  const double power = std::pow(q, -x);
  sum += power * q / (x - 1) + power / 2;
  // B(2j) / (2j)!
  constexpr double kTerms[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368000.0,
                               1.0 / 74724249600.0,
                               -3617.0 / 10670622842880000.0};
  double factor = x * power / q;
  for (int j = 0; j < 8; ++j) {
    sum += kTerms[j] * factor;
    factor *= (x + 2 * j + 1) * (x + 2 * j + 2) / (q * q);
  }
  return sum;
}
float Zeta::call(float x, float q) { return static_cast<float>(call(static_cast<double>(x), static_cast<double>(q))); }

double Polygamma::call(double a, double x) {
  if (!(a >= 0) || a != std::floor(a)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 0) return Digamma::call(x);
  const double size = std::exp(Lgamma::call(a + 1)) * Zeta::call(a + 1, x);
  return std::fmod(a, 2) == 0 ? -size : size;
}
float Polygamma::call(float a, float x) {
  return static_cast<float>(call(static_cast<double>(a), static_cast<double>(x)));
}

}  // namespace argosy::scalar
