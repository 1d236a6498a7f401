// Bessel functions on top of the C and C++ libraries' (glibc's j0, j1, y0, y1; std::cyl_bessel_i and _k), with
// asymptotic series for large arguments, where those overflow. Abramowitz & Stegun 9.7.1, 9.7.2.
#include <math.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "argosy/ops/special/special_functions.h"

namespace argosy::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLarge = 100;  // from here on the asymptotic series below is exact to the last digits

constexpr double kTiny = 1e-100;  // below it std::cyl_bessel_k divides by x squared, and throws

// The first term of K about 0, which is exact there (9.6.8, 9.6.9): -ln(x/2) less Euler's constant, and 1/x.
double tiny_k(int order, double x) {
  return order == 0 ? std::numbers::ln2 - std::log(x) - std::numbers::egamma : 1 / x;
}

// The sum over k of (∓1)^k (m - 1²)(m - 3²) … (m - (2k-1)²) / (k! (8x)^k), m = 4 order²; minus for I.
double asymptotic(int order, double x, double sign) {
  const double m = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2.0 * k - 1;
    term *= sign * (m - odd * odd) / (k * 8 * x);
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return sum;
}

double scaled_i(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  double y = 0;
  if (size >= kLarge) {
    y = std::isinf(size) ? 0 : asymptotic(order, size, -1) / std::sqrt(2 * std::numbers::pi * size);
  } else {
    y = std::cyl_bessel_i(static_cast<double>(order), size) * std::exp(-size);
  }
  return order == 1 && std::signbit(x) ? -y : y;
}
double plain_i(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x) || std::isinf(x)) return kNan;
  if (size < kLarge) {
    const double y = std::cyl_bessel_i(static_cast<double>(order), size);
    return order == 1 && x < 0 ? -y : y;
  }
  const double half = std::exp(size / 2);  // in two steps: exp(size) alone overflows earlier
  return scaled_i(order, x) * half * half;
}
double scaled_k(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (std::isinf(x)) return 0;
  if (x < kTiny) return tiny_k(order, x);
  if (x >= kLarge) return asymptotic(order, x, 1) * std::sqrt(std::numbers::pi / (2 * x));
  return std::cyl_bessel_k(static_cast<double>(order), x) * std::exp(x);
}
double plain_k(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (x < kTiny) return tiny_k(order, x);
  if (x >= kLarge) return std::isinf(x) ? 0 : scaled_k(order, x) * std::exp(-x);
  return std::cyl_bessel_k(static_cast<double>(order), x);
}

}  // namespace

double bessel_i0(double x) { return plain_i(0, x); }
double bessel_i0e(double x) { return scaled_i(0, x); }
double bessel_i1(double x) { return plain_i(1, x); }
double bessel_i1e(double x) { return scaled_i(1, x); }
double bessel_j0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
double bessel_k0(double x) { return plain_k(0, x); }
double bessel_k0e(double x) { return scaled_k(0, x); }
double bessel_k1(double x) { return plain_k(1, x); }
double bessel_k1e(double x) { return scaled_k(1, x); }
double bessel_y0(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : ::y0(x); }
double bessel_y1(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : ::y1(x); }

}  // namespace argosy::special
