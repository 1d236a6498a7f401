// Gamma and Poisson samples by rejection: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000);
// Knuth's product of uniforms and Hörmann, "The transformed rejection method for generating Poisson random variables"
// (1993).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/distribution/draws.h"

namespace argosy::distribution {

namespace {

double unit(std::uint32_t x0, std::uint32_t x1) {
  return std::bit_cast<double>((std::uint64_t{1023} << 52) | (std::uint64_t{x0 & 0xfffffu} << 32) | x1) - 1.0;
}

}  // namespace

double UnitDoubles::operator()(Philox& stream) {
  // The pair is (first, second); the second is used up first.
  if (has_first_) {
    has_first_ = false;
    return second_;
  }
  const Philox::Block words = stream();
  second_ = unit(words[0], words[1]);
  has_first_ = true;
  return unit(words[2], words[3]);
}

double NormalDoubles::operator()(Philox& stream) {
  if (has_first_) {
    has_first_ = false;
    return first_;
  }
  const Philox::Block words = stream();
  const double u = std::max(unit(words[0], words[1]), 1.0e-7);
  const double angle = 2.0 * std::numbers::pi * unit(words[2], words[3]);
  const double radius = std::sqrt(-2.0 * std::log(u));
  first_ = std::sin(angle) * radius;
  has_first_ = true;
  return std::cos(angle) * radius;
}

namespace {

double gamma_sample(double alpha, Philox stream) {
  UnitDoubles uniform;
  if (alpha == 1.0) return -std::log1p(-uniform(stream));
  // Below 1, a sample for alpha + 1 is scaled by u^(1/alpha).
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  if (!(d > 0) || std::isinf(d)) return std::numeric_limits<double>::quiet_NaN();  // no such distribution
  NormalDoubles normal;
  Poll poll(4096);
  while (true) {
    poll();
    const double x = normal(stream);
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniform(stream);
    // The first test avoids the logarithms in nine of ten cases.
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return small ? d * v * std::pow(uniform(stream), 1 / alpha) : d * v;
    }
  }
}

double poisson_small(double rate, Philox& stream, double most) {
  UnitDoubles uniform;
  Poll poll(4096);
  const double limit = std::exp(-rate);
  double product = 1;
  for (double x = 0;; ++x) {
    poll();
    product *= uniform(stream);
    if (product <= limit && x <= most) return x;
  }
}

double poisson_large(double rate, Philox& stream, double most) {
  constexpr int kMostTries = 100000;  // a rate far above what the dtype holds is never met
  UnitDoubles uniform;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_acceptance = 1.1239 + 1.1328 / (b - 3.4);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const double u = uniform(stream) - 0.5;
    const double v = uniform(stream);
    const double inside = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / inside + b) * u + rate + 0.43);
    if (k > most) continue;
    if (inside >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (inside < 0.013 && v > inside)) continue;
    const double s = std::log(v * inverse_acceptance / (a / (inside * inside) + b));
    const double t = -rate + k * log_rate - std::lgamma(k + 1);
    if (s <= t) return k;
  }
  return most;
}

double poisson_sample(double rate, Philox stream, double most, double infinity) {
  if (std::isnan(rate)) return std::numeric_limits<double>::quiet_NaN();
  if (rate < 10) return poisson_small(rate, stream, most);
  if (std::isinf(rate)) return infinity;
  return poisson_large(rate, stream, most);
}

// Calls fn(parameter, stream) for every element. Output i, in the order of streams, belongs to parameter i / samples,
// and is in the parameter's column of the sample's row.
template <typename P, typename T, typename Fn>
void draw_all(const Tensor& parameter, const Tensor& y, const Philox& from, Fn&& fn) {
  const std::int64_t parameters = parameter.elements();
  const std::int64_t samples = parameters == 0 ? 0 : y.elements() / parameters;
  parallel_for(samples * parameters, 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Philox stream = from;
      stream.skip(kBlocksPerElement * static_cast<std::uint64_t>(i));
      const std::int64_t p = i / samples;
      y.data<T>()[i % samples * parameters + p] = fn(static_cast<double>(parameter.data<P>()[p]), stream);
    }
  });
}

}  // namespace

Status draw_gamma(const Tensor& alpha, const Tensor& y, const Philox& from) {
  return dispatch<TypeList<float, double, float16>>(y.dtype(), "gamma samples", [&]<typename T>() {
    draw_all<T, T>(alpha, y, from, [](double a, const Philox& stream) { return T(gamma_sample(a, stream)); });
    return ok_status();
  });
}

Status draw_poisson(const Tensor& rate, const Tensor& y, const Philox& from) {
  using Types = TypeList<float, double, float16, std::int32_t, std::int64_t>;
  return dispatch<Types>(rate.dtype(), "Poisson samples", [&]<typename R>() {
    return dispatch<Types>(y.dtype(), "Poisson samples", [&]<typename T>() {
      constexpr bool kWhole = std::is_integral_v<T>;
      const auto most = static_cast<double>(std::numeric_limits<T>::max());
      draw_all<R, T>(rate, y, from, [&](double r, const Philox& stream) {
        const double infinity = kWhole ? 0 : std::numeric_limits<double>::infinity();
        const double k = poisson_sample(r, stream, most, infinity);
        if constexpr (kWhole) {
          if (!(k < most)) return std::isnan(k) ? T(0) : std::numeric_limits<T>::max();
        }
        return T(k);
      });
      return ok_status();
    });
  });
}

}  // namespace argosy::distribution
