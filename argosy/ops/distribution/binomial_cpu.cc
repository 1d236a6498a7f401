// Binomial samples. With a mean below 10 by waiting times: geometric samples are added until they exceed the number of
// trials (Devroye, "Non-uniform random variate generation", 1986, X.4.3). Otherwise by transformed rejection: Hörmann,
// "The generation of binomial random variates" (1993), algorithm BTRS.
#include <cmath>
#include <limits>

#include "argosy/ops/distribution/draws.h"

namespace argosy::distribution {

namespace {

using Binomial = TypeList<float16, float, double, std::int32_t, std::int64_t>;

// Blocks of the stream that each sample has of its own, by method: TensorFlow's numbers.
constexpr std::uint64_t kBlocksOfWaiting = 42, kBlocksOfRejection = 256;

double by_waiting(double count, double prob, Philox stream) {
  UnitDoubles uniform;
  const double rate = std::log1p(-prob);
  double trials = 0, successes = 0;
  while (true) {
    trials += std::ceil(std::log(uniform(stream)) / rate);
    if (!(trials <= count)) return successes;
    ++successes;
  }
}

// The error of Stirling's formula for log(k!).
double stirling_tail(double k) {
  constexpr double kExact[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                               0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                               0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kExact[static_cast<std::size_t>(std::max(k, 0.0))];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// The names are the paper's. REQUIRES: count * prob >= 10, prob <= 0.5, both finite.
double by_rejection(double n, double p, Philox stream) {
  const double spq = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * spq;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * spq;
  const double mode = std::floor((n + 1) * p);
  UnitDoubles uniform;
  while (true) {
    const double u = uniform(stream) - 0.5;
    const double v = uniform(stream);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= box) return k;
    if (!(k >= 0 && k <= n)) continue;
    const double height = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) +
                         stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k);
    if (height <= bound) return k;
  }
}

// A sample as U, which may be too small for it.
template <typename U>
U as(double v) {
  if constexpr (std::is_integral_v<U>) {
    if (!(v >= 0)) return 0;
    return v >= static_cast<double>(std::numeric_limits<U>::max()) ? std::numeric_limits<U>::max() : static_cast<U>(v);
  } else {
    return static_cast<U>(v);
  }
}

// Sample number `index`. Comparisons are made in T, as TensorFlow makes them.
template <typename T>
double sample(T count, T prob, const Philox& from, std::uint64_t index) {
  const double n = static_cast<double>(count), p = static_cast<double>(prob);
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (!std::isfinite(n) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();  // no such distribution
  const bool turned = p > 0.5;
  const T rarer = turned ? T(T(1) - prob) : prob;
  const double q = static_cast<double>(rarer);
  const bool many = static_cast<double>(T(count * rarer)) >= 10;
  Philox stream = from;
  stream.skip((many ? kBlocksOfRejection : kBlocksOfWaiting) * index);
  const double k = many ? by_rejection(n, q, stream) : by_waiting(n, q, stream);
  return turned ? n - k : k;
}

}  // namespace

std::vector<std::int64_t> broadcast_indices(const Shape& from, const Shape& batch) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(batch.elements()), 0);
  std::int64_t distance = 1, repeat = 1;  // of neighbours along the axis, in `from` and in `batch`
  for (int k = 1; k <= batch.rank(); ++k) {
    const std::int64_t size = batch[batch.rank() - k];
    const std::int64_t own = k <= from.rank() ? from[from.rank() - k] : 1;
    if (own > 1) {
      for (std::size_t i = 0; i < at.size(); ++i) at[i] += static_cast<std::int64_t>(i) / repeat % size * distance;
    }
    distance *= own;
    repeat *= size;
  }
  return at;
}

Status draw_binomial(KernelContext& c, const Tensor& counts, const Tensor& probs, const Tensor& y, const Shape& batch,
                     const Philox& from) {
  const std::int64_t rows = batch.elements(), per_row = y.elements() / rows;
  const std::vector<std::int64_t> count_at = broadcast_indices(counts.shape(), batch);
  const std::vector<std::int64_t> prob_at = broadcast_indices(probs.shape(), batch);
  return dispatch<Binomial>(counts.dtype(), c.node(), [&]<typename T>() {
    return dispatch<Binomial>(y.dtype(), c.node(), [&]<typename U>() {
      for (std::int64_t r = 0; r < rows; ++r) {
        const T count = counts.data<T>()[count_at[static_cast<std::size_t>(r)]];
        const T prob = probs.data<T>()[prob_at[static_cast<std::size_t>(r)]];
        for (std::int64_t i = 0; i < per_row; ++i) {
          const auto index = static_cast<std::uint64_t>(r * per_row + i);
          y.data<U>()[i * rows + r] = as<U>(sample(count, prob, from, index));
        }
      }
      return ok_status();
    });
  });
}

}  // namespace argosy::distribution
