// Incomplete gamma functions: a series for x <= max(a, 1), else a continued fraction (Abramowitz & Stegun 6.5.29 and
// 6.5.31), each with its derivative in `a`. The incomplete beta function: a continued fraction (26.5.8), no derivative.
// Fractions are evaluated by the modified method of Lentz.
#include <math.h>

#include <cmath>
#include <limits>

#include "argosy/ops/elementwise/functions/scalar_functions.h"
#include "argosy/ops/special/special_functions.h"

namespace argosy::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 1e-300;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxIterations = 20000;

// A number and its derivative in a.
struct Dual {
  double v = 0, d = 0;
};
Dual operator+(Dual x, Dual y) { return {x.v + y.v, x.d + y.d}; }
Dual operator*(Dual x, Dual y) { return {x.v * y.v, x.d * y.v + x.v * y.d}; }
Dual operator/(Dual x, Dual y) { return {x.v / y.v, (x.d - x.v / y.v * y.d) / y.v}; }

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
double digamma(double x) { return scalar::Digamma::call(x); }

// P(a, x) Γ(a + 1) / (x^a e^-x).
Dual lower_series(double a, double x) {
  Dual term{1, 0}, sum{1, 0};
  for (int n = 1; n < kMaxIterations; ++n) {
    term = term * (Dual{x, 0} / Dual{a + n, 1});
    sum = sum + term;
    if (std::abs(term.v) <= kEpsilon * std::abs(sum.v) && std::abs(term.d) <= kEpsilon * std::abs(sum.d)) break;
  }
  return sum;
}

// Q(a, x) Γ(a) / (x^a e^-x).
Dual upper_fraction(double a, double x) {
  Dual b{x + 1 - a, -1};
  Dual c{1 / kTiny, 0};
  Dual d = Dual{1, 0} / b;
  Dual h = d;
  for (int n = 1; n < kMaxIterations; ++n) {
    const Dual factor{-n * (n - a), static_cast<double>(n)};
    b.v += 2;
    d = factor * d + b;
    if (std::abs(d.v) < kTiny) d.v = kTiny;
    c = b + factor / c;
    if (std::abs(c.v) < kTiny) c.v = kTiny;
    d = Dual{1, 0} / d;
    const Dual step = d * c;
    const double before = h.d;
    h = h * step;
    if (std::abs(step.v - 1) <= kEpsilon && std::abs(h.d - before) <= 1e-14 * std::abs(h.d)) break;
  }
  return h;
}

bool by_series(double a, double x) { return x <= 1 || x <= a; }
// x^a e^-x / Γ(g).
double weight(double a, double x, double g) { return std::exp(a * std::log(x) - x - log_gamma(g)); }

}  // namespace

double gamma_lower(double a, double x) {
  if (x == 0) return 0;  // of any `a`, NaN as well
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x < 0 || a <= 0) return kNan;
  if (std::isinf(a)) return 0;
  if (std::isinf(x)) return 1;
  if (!by_series(a, x)) return 1 - gamma_upper(a, x);
  return weight(a, x, a + 1) * lower_series(a, x).v;
}

double gamma_upper(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0 || std::isinf(a)) return std::isinf(a) && std::isinf(x) ? 0 : 1;
  if (std::isinf(x)) return 0;
  if (by_series(a, x)) return 1 - gamma_lower(a, x);
  return weight(a, x, a) * upper_fraction(a, x).v;
}

double gamma_lower_slope(double a, double x) {
  if (x == 0) return 0;  // of any `a`, NaN as well
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x < 0 || a <= 0) return kNan;
  if (std::isinf(a) || std::isinf(x)) return 0;
  if (by_series(a, x)) {
    const Dual sum = lower_series(a, x);
    return weight(a, x, a + 1) * ((std::log(x) - digamma(a + 1)) * sum.v + sum.d);
  }
  const Dual h = upper_fraction(a, x);
  return -weight(a, x, a) * ((std::log(x) - digamma(a)) * h.v + h.d);
}

// The gradient of a sample by implicit reparameterization: -(dP/da) / density(x). The factor common to both is left
// out.
double gamma_sample_slope(double a, double x) {
  if (x == 0) return 0;  // of any `a`, NaN as well
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x < 0 || a <= 0) return kNan;
  if (std::isinf(a) || std::isinf(x)) return 0;
  if (by_series(a, x)) {
    const Dual sum = lower_series(a, x);
    return -((std::log(x) - digamma(a + 1)) * sum.v + sum.d) * x / a;
  }
  const Dual h = upper_fraction(a, x);
  return x * ((std::log(x) - digamma(a)) * h.v + h.d);
}

namespace {

double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double h = d;
  const auto next = [&](double factor) {
    d = 1 + factor * d;
    if (std::abs(d) < kTiny) d = kTiny;
    c = 1 + factor / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    return d * c;
  };
  for (int m = 1; m < kMaxIterations; ++m) {
    next(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    const double step = next(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(step - 1) <= kEpsilon) break;
  }
  return h;
}

}  // namespace

double beta_lower(double a, double b, double x) {
  if (a <= 0 || b <= 0) return kNan;
  if (x == 0 || x == 1) return x;  // of any other `a` and `b`, NaN and infinities as well
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1) || a == kInf || b == kInf) return kNan;
  const double prefactor =
      std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return prefactor * beta_fraction(a, b, x) / a;
  return 1 - prefactor * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace argosy::special
