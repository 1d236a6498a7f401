// Truncated normal samples. Robert, "Simulation of truncated normal variables" (1995): rejection from the normal
// distribution if the bounds keep much of it, else from a uniform or a shifted exponential one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/distribution/draws.h"
#include "argosy/ops/random/fill.h"

namespace argosy::distribution {

namespace {

constexpr int kMostTries = 1000;

// Numbers block by block, as wide as a block of T is: four, or two doubles.
template <typename T>
struct Blocks {
  static constexpr int kSize = sizeof(T) == 8 ? 2 : 4;
  Philox stream;
  std::array<T, 4> next(Distribution distribution) {
    poll();
    Tensor block = Tensor(dtype_of<T>(), Shape{kSize}, Buffer::borrow(values.data(), sizeof(T) * kSize));
    const Status filled = fill_random(block, distribution, stream, true);
    ARGOSY_CHECK(filled.ok());
    stream.skip(1);
    return values;
  }
  std::array<T, 4> values{};
  Poll poll{256};
};

template <typename T>
struct TruncatedNormal {
  double mean, deviation, low, high;  // low and high in deviations from the mean
};

// Writes samples to to[0], to[step] … to[(n - 1) step]. Returns false after a thousand rejections in a row.
template <typename T>
bool draw_row(const TruncatedNormal<T>& row, Blocks<T>& blocks, T* to, std::int64_t n, std::int64_t step = 1) {
  using W = std::conditional_t<sizeof(T) == 8, double, float>;
  const auto low = static_cast<W>(row.low), high = static_cast<W>(row.high);
  const auto result = [&](W z) { return T(z * static_cast<W>(row.deviation) + static_cast<W>(row.mean)); };
  constexpr W kWide = W(1.7);
  const W root = std::sqrt(low * low + W(4));
  const W cutoff = W(2) * std::exp(W(0.5) + low * (low - root) / W(4)) / (low + root);
  const W width = high - low;
  int tries = 0;
  std::int64_t done = 0;
  if ((low < -kWide && high >= W(0)) || (high > kWide && low <= W(0))) {
    while (done < n) {
      const auto z = blocks.next(Distribution::kNormal);
      for (int i = 0; i < Blocks<T>::kSize && done < n; ++i) {
        const W x = static_cast<W>(z[static_cast<std::size_t>(i)]);
        if (x >= low && x <= high) {
          to[step * done++] = result(x);
          tries = 0;
        } else if (++tries > kMostTries) {
          return false;
        }
      }
    }
    return true;
  }
  if (width < cutoff) {
    const W least = low < W(0) ? W(0) : low * low;
    while (done < n) {
      const auto draw = blocks.next(Distribution::kUniform);
      const auto u = blocks.next(Distribution::kUniform);
      for (std::size_t i = 0; i < Blocks<T>::kSize && done < n; ++i) {
        const W z = static_cast<W>(draw[i]) * width + low;
        if (static_cast<W>(u[i]) <= std::exp((least - z * z) / W(2)) || tries + 1 >= kMostTries) {
          to[step * done++] = result(z);
          tries = 0;
        } else {
          ++tries;
        }
      }
    }
    return true;
  }
  const W alpha = (low + root) / W(2);
  while (done < n) {
    const auto draw = blocks.next(Distribution::kUniform);
    for (std::size_t i = 0; i + 1 < Blocks<T>::kSize && done < n; i += 2) {
      const W z = -std::log(static_cast<W>(draw[i])) / alpha + low;
      const W x = low < alpha ? alpha - z : low - alpha;
      if ((static_cast<W>(draw[i + 1]) <= std::exp(-x * x / W(2)) && z < high) || tries + 1 >= kMostTries) {
        to[step * done++] = result(z);
        tries = 0;
      } else {
        ++tries;
      }
    }
  }
  return true;
}

// Draws `n` numbers for the means, deviations and bounds that p holds; false: see draw_row().
template <typename T>
Status draw_between(KernelContext& c, const double (&p)[4], Blocks<T>& blocks, T* to, std::int64_t n,
                    std::int64_t step = 1) {
  const double mean = p[0];
  double deviation = p[1], low = p[2], high = p[3];
  if (!(deviation > 0) || !(low < high) || (std::isinf(low) && std::isinf(high)) || std::isnan(mean)) {
    return invalid_argument("Invalid parameters: node ", c.node(), ": deviation ", deviation,
                            " must be above 0, the lower bound ", low, " below the upper one ", high,
                            ", and one of them finite");
  }
  if ((std::isinf(low) && low < 0) || high < mean) {  // mirrored, so that the lower bound is the nearer one
    std::swap(low, high);
    deviation = -deviation;
  }
  if (draw_row<T>({mean, deviation, (low - mean) / deviation, (high - mean) / deviation}, blocks, to, n, step))
    return ok_status();
  return internal_error("node ", c.node(), ": a thousand numbers in a row fell outside [", low, ", ", high, "]");
}

}  // namespace

Status draw_truncated_normal(KernelContext& c, const Tensor& y, SharedPhilox& generator) {
  const Shape& shape = y.shape();
  if (shape.rank() == 0) return invalid_argument("ParameterizedTruncatedNormal: shape must not be empty");
  std::int64_t rows = shape[0];
  bool varied = false;
  for (int i = 1; i < 5; ++i) {
    const Shape& p = c.input(i).shape();
    const bool fits = p.rank() == 0 || (p.rank() == 1 && (p[0] == 1 || p[0] == rows));
    if (!fits) {
      return invalid_argument("ParameterizedTruncatedNormal: parameter ", i - 1, " must be a scalar or hold 1 or ",
                              rows, " numbers, not be of shape ", p);
    }
    varied = varied || p.elements() > 1;
  }
  if (shape.elements() == 0) return ok_status();
  std::int64_t per_row = shape.elements() / rows;
  if (!varied) {  // rows of a convenient length
    per_row = 100;
    rows = (shape.elements() + per_row - 1) / per_row;
  }
  const auto blocks_of = [&](std::int64_t row) {
    return static_cast<std::uint64_t>(row) * 2 * kMostTries * static_cast<std::uint64_t>(per_row + 3) / 4;
  };
  const Philox from = generator.reserve(blocks_of(rows));
  return dispatch<FloatTypes>(y.dtype(), "ParameterizedTruncatedNormal", [&]<typename T>() -> Status {
    Blocks<T> blocks{from};
    for (std::int64_t r = 0; r < rows; ++r) {
      double p[4];
      for (int i = 0; i < 4; ++i) {
        const Tensor& t = c.input(i + 1);
        p[i] = static_cast<double>(t.data<T>()[t.elements() == 1 ? 0 : r]);
      }
      const std::int64_t begin = r * per_row;
      const std::int64_t n = std::min(per_row, y.elements() - begin);
      ARGOSY_RETURN_IF_ERROR(draw_between<T>(c, p, blocks, y.data<T>() + begin, n));
    }
    return ok_status();
  });
}

Status draw_truncated_normal(KernelContext& c, const Tensor& y, const Shape& batch, const Philox& from) {
  const std::int64_t rows = batch.elements();
  const std::int64_t per_row = y.elements() / rows;
  std::vector<std::int64_t> at[4];
  for (int i = 0; i < 4; ++i) at[i] = broadcast_indices(c.input(i + 2).shape(), batch);
  return dispatch<FloatTypes>(y.dtype(), c.node(), [&]<typename T>() -> Status {
    Blocks<T> blocks{from};
    for (std::int64_t r = 0; r < rows; ++r) {
      double p[4];
      for (int i = 0; i < 4; ++i)
        p[i] = static_cast<double>(c.input(i + 2).data<T>()[at[i][static_cast<std::size_t>(r)]]);
      ARGOSY_RETURN_IF_ERROR(draw_between<T>(c, p, blocks, y.data<T>() + r, per_row, rows));
    }
    return ok_status();
  });
}

}  // namespace argosy::distribution
