// Inverse error functions by Newton's method, and integrals without a closed form.
#include <cmath>
#include <limits>
#include <numbers>

#include "argosy/ops/special/special_functions.h"

namespace argosy::special {

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
}  // namespace

// Newton's method on the distribution function, from Abramowitz & Stegun 26.2.23, which is right to 4.5e-4.
double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (p > 0.5) return -normal_quantile(1 - p);
  const double t = std::sqrt(-2 * std::log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int i = 0; i < 4; ++i) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    if (density == 0) break;
    const double step = (below - p) / density;
    x -= step / (1 + 0.5 * x * step);  // Halley's: the second derivative is -x times the first
  }
  return x;
}

double erf_inverse(double x) {
  if (!(x >= -1 && x <= 1)) return kNan;
  if (std::abs(x) > 0.5) {
    const double y = -normal_quantile(0.5 * (1 - std::abs(x))) / std::numbers::sqrt2;
    return x < 0 ? -y : y;
  }
  // Near 0, where (1 + x) / 2 would lose digits.
  const double half_root_pi = 0.5 * std::sqrt(std::numbers::pi);
  double y = half_root_pi * x;
  for (int i = 0; i < 6; ++i) y -= (std::erf(y) - x) * half_root_pi * std::exp(y * y);
  return y;
}

// Rybicki, "Dawson's integral and the sampling theorem" (1989), near the series at 0.
double dawson(double x) {
  constexpr double kStep = 0.2;
  constexpr int kTerms = 31;
  if (std::isnan(x)) return x;
  const double size = std::abs(x);
  if (std::isinf(size)) return 0;
  if (size < 0.2) {
    const double s = x * x;
    double term = x, sum = x;
    for (int n = 1; n < 20; ++n) {
      term *= -2 * s / (2 * n + 1);
      sum += term;
    }
    return sum;
  }
  const double nearest = 2 * std::floor(0.5 * size / kStep + 0.5);
  const double rest = size - nearest * kStep;
  double sum = 0;
  for (int n = -kTerms; n <= kTerms; n += 2) {
    const double d = rest - n * kStep;
    sum += std::exp(-d * d) / (nearest + n);
  }
  const double y = sum / std::sqrt(std::numbers::pi);
  return x < 0 ? -y : y;
}

double exponential_integral(double x) {
  if (x == 0) return -kInf;
  if (!(x > 0) || std::isinf(x)) return kNan;
  return std::expint(x);
}

namespace {

struct Fresnel {
  double c, s;
};

// Power series below 2.5 or so; above, the asymptotic series of the auxiliary functions (A&S 7.3.9 and 7.3.27).
Fresnel fresnel(double size) {
  const double t = 0.5 * std::numbers::pi * size * size;
  if (size < 3.8) {
    long double c = 0, s = 0, term = static_cast<long double>(size);
    for (int n = 0; n < 200; ++n) {
      // The n-th term of the integral of exp(i t): alternately real and imaginary, with signs + + - -.
      const long double part = term / (2 * n + 1);
      (n % 2 == 0 ? c : s) += n % 4 < 2 ? part : -part;
      term *= static_cast<long double>(t) / (n + 1);
      if (n > 4 && std::abs(term) < 1e-22L) break;
    }
    return {static_cast<double>(c), static_cast<double>(s)};
  }
  if (std::isinf(size)) return {0.5, 0.5};
  const double u = 1 / (4 * t * t);  // 1 / (π x²)²
  double f = 1, g = 1, f_term = 1, g_term = 1;
  for (int k = 1; k < 20; ++k) {
    const double m = 4.0 * k;
    const double f_next = -f_term * (m - 3) * (m - 1) * u, g_next = -g_term * (m - 1) * (m + 1) * u;
    if (std::abs(g_next) > std::abs(g_term) || std::abs(g_next) < 1e-18) break;
    f += f_term = f_next;
    g += g_term = g_next;
  }
  f /= std::numbers::pi * size;
  g /= std::numbers::pi * size * 2 * t;
  // The angle modulo 2 π, from x² modulo 4: t itself may be huge.
  const double angle = 0.5 * std::numbers::pi * std::fmod(size * size, 4);
  return {0.5 + f * std::sin(angle) - g * std::cos(angle), 0.5 - f * std::cos(angle) - g * std::sin(angle)};
}

}  // namespace

double fresnel_cos(double x) {
  if (std::isnan(x)) return x;
  const double y = fresnel(std::abs(x)).c;
  return x < 0 ? -y : y;
}
double fresnel_sin(double x) {
  if (std::isnan(x)) return x;
  const double y = fresnel(std::abs(x)).s;
  return x < 0 ? -y : y;
}

// Li2(1 - x). Reflections bring the argument of the power series below 1/2.
double spence(double x) {
  if (!(x >= 0) || std::isinf(x)) return kNan;
  if (x == 0) return std::numbers::pi * std::numbers::pi / 6;
  if (x > 2) {
    const double l = std::log(x);
    return -spence(1 / x) - 0.5 * l * l;
  }
  if (x < 0.5) return std::numbers::pi * std::numbers::pi / 6 - std::log(x) * std::log1p(-x) - spence(1 - x);
  if (x > 1.5) {  // Landen: Li2(z) = -Li2(z / (z - 1)) - log²(1 - z) / 2
    const double l = std::log(x);
    return -spence(1 / x) - 0.5 * l * l;
  }
  const double z = 1 - x;
  double power = z, sum = 0;
  for (int k = 1; k < 80; ++k) {
    sum += power / (static_cast<double>(k) * k);
    power *= z;
  }
  return sum;
}

}  // namespace argosy::special
