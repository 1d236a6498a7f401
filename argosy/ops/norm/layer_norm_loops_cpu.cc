#include "argosy/ops/norm/layer_norm_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/norm/layer_norm_loops_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "argosy/ops/elementwise/functions/halves.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::norm_rows {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): loads and stores of this target

// T is what lies in memory, W what it is computed in.
template <typename W>
struct RowMoments {
  W mean, inverse_deviation;
};

template <typename T, typename W = Wide<T>>
HWY_INLINE RowMoments<W> row_moments(std::int64_t n, const T* x, W epsilon) {
  const WideTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, load_wide(d, x + i));
  W total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) total += static_cast<W>(x[i]);
  const W mean = total / static_cast<W>(n);
  const auto center = hn::Set(d, mean);
  auto squares = hn::Zero(d);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto z = hn::Sub(load_wide(d, x + i), center);
    squares = hn::MulAdd(z, z, squares);
  }
  W total2 = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; i < n; ++i) total2 += (static_cast<W>(x[i]) - mean) * (static_cast<W>(x[i]) - mean);
  return {mean, 1 / std::sqrt(total2 / static_cast<W>(n) + epsilon)};
}

// Columns are taken a vector at a time, the last ones singly: body(tag, first column).
template <typename T, template <class> class Body, typename... Arguments>
HWY_INLINE void over_columns(std::int64_t n, Arguments... arguments) {
  const WideTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= n; c += lanes) Body<WideTag<T>>::run(d, c, arguments...);
  for (; c < n; ++c) Body<OneTag<T>>::run(OneTag<T>(), c, arguments...);
}

template <class D>
struct LayerBody {
  using W = hn::TFromD<D>;
  template <typename T>
  static HWY_INLINE void run(D d, std::int64_t c, const T* x, const W* scale, const W* offset, RowMoments<W> m, T* y) {
    const auto hat = hn::Mul(hn::Sub(load_wide(d, x + c), hn::Set(d, m.mean)), hn::Set(d, m.inverse_deviation));
    store_rounded(d, hn::MulAdd(hat, hn::LoadU(d, scale + c), hn::LoadU(d, offset + c)), y + c);
  }
};

// The sums over the row of g = dy * scale and of g * xhat; dscale and doffset grow.
template <typename T, typename W = Wide<T>>
HWY_INLINE void layer_sums(std::int64_t n, const T* dy, const T* x, const W* scale, RowMoments<W> m, W* dscale,
                           W* doffset, W* sum, W* sum_hat) {
  const WideTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mean = hn::Set(d, m.mean), inverse = hn::Set(d, m.inverse_deviation);
  auto total = hn::Zero(d), total_hat = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    const auto flow = load_wide(d, dy + c);
    const auto hat = hn::Mul(hn::Sub(load_wide(d, x + c), mean), inverse);
    hn::StoreU(hn::MulAdd(flow, hat, hn::LoadU(d, dscale + c)), d, dscale + c);
    hn::StoreU(hn::Add(flow, hn::LoadU(d, doffset + c)), d, doffset + c);
    const auto g = hn::Mul(flow, hn::LoadU(d, scale + c));
    total = hn::Add(total, g);
    total_hat = hn::MulAdd(g, hat, total_hat);
  }
  *sum = hn::GetLane(hn::SumOfLanes(d, total));
  *sum_hat = hn::GetLane(hn::SumOfLanes(d, total_hat));
  for (; c < n; ++c) {
    const W flow = static_cast<W>(dy[c]), hat = (static_cast<W>(x[c]) - m.mean) * m.inverse_deviation;
    dscale[c] += flow * hat;
    doffset[c] += flow;
    *sum += flow * scale[c];
    *sum_hat += flow * scale[c] * hat;
  }
}
template <class D>
struct LayerGradientBody {
  using W = hn::TFromD<D>;
  template <typename T>
  static HWY_INLINE void run(D d, std::int64_t c, const T* dy, const T* x, const W* scale, RowMoments<W> m, W mean_g,
                             W mean_hat, T* dx) {
    const auto hat = hn::Mul(hn::Sub(load_wide(d, x + c), hn::Set(d, m.mean)), hn::Set(d, m.inverse_deviation));
    const auto g = hn::Mul(load_wide(d, dy + c), hn::LoadU(d, scale + c));
    const auto z = hn::NegMulAdd(hat, hn::Set(d, mean_hat), hn::Sub(g, hn::Set(d, mean_g)));
    store_rounded(d, hn::Mul(z, hn::Set(d, m.inverse_deviation)), dx + c);
  }
};

// Rows that are kMany whole vectors stay in registers: read once, and with the same sums, in the same order.
template <int kMany, typename T, class D = WideTag<T>>
struct WholeRow {
  using W = Wide<T>;
  hn::Vec<D> z[kMany];  // x, then its distance from the mean
  hn::Vec<D> inverse;

  HWY_INLINE WholeRow(const T* x, W epsilon) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto sum = hn::Zero(d), squares = hn::Zero(d);
    for (int k = 0; k < kMany; ++k) {
      z[k] = load_wide(d, x + k * lanes);
      sum = hn::Add(sum, z[k]);
    }
    const W n = static_cast<W>(kMany * lanes);
    const auto mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum)) / n);
    for (int k = 0; k < kMany; ++k) {
      z[k] = hn::Sub(z[k], mean);
      squares = hn::MulAdd(z[k], z[k], squares);
    }
    inverse = hn::Set(d, 1 / std::sqrt(hn::GetLane(hn::SumOfLanes(d, squares)) / n + epsilon));
  }

  HWY_INLINE void normalise(const W* scale, const W* offset, T* y) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (int k = 0; k < kMany; ++k) {
      const auto hat = hn::Mul(z[k], inverse);
      const auto v = hn::MulAdd(hat, hn::LoadU(d, scale + k * lanes), hn::LoadU(d, offset + k * lanes));
      store_rounded(d, v, y + k * lanes);
    }
  }

  HWY_INLINE void gradient(const T* dy, const W* scale, T* dx, W* dscale, W* doffset) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::Vec<D> g[kMany];
    auto total = hn::Zero(d), total_hat = hn::Zero(d);
    for (int k = 0; k < kMany; ++k) {
      const std::int64_t c = k * lanes;
      const auto flow = load_wide(d, dy + c);
      z[k] = hn::Mul(z[k], inverse);
      hn::StoreU(hn::MulAdd(flow, z[k], hn::LoadU(d, dscale + c)), d, dscale + c);
      hn::StoreU(hn::Add(flow, hn::LoadU(d, doffset + c)), d, doffset + c);
      g[k] = hn::Mul(flow, hn::LoadU(d, scale + c));
      total = hn::Add(total, g[k]);
      total_hat = hn::MulAdd(g[k], z[k], total_hat);
    }
    const W n = static_cast<W>(kMany * lanes);
    const auto mean_g = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, total)) / n);
    const auto mean_hat = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, total_hat)) / n);
    for (int k = 0; k < kMany; ++k) {
      const auto v = hn::NegMulAdd(z[k], mean_hat, hn::Sub(g[k], mean_g));
      store_rounded(d, hn::Mul(v, inverse), dx + k * lanes);
    }
  }
};

template <typename T, typename W = Wide<T>>
HWY_INLINE void layer_row(std::int64_t n, const T* x, const W* scale, const W* offset, W epsilon, T* y) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(WideTag<T>()));
  if (n == lanes) return WholeRow<1, T>(x, epsilon).normalise(scale, offset, y);
  if (n == 2 * lanes) return WholeRow<2, T>(x, epsilon).normalise(scale, offset, y);
  if (n == 4 * lanes) return WholeRow<4, T>(x, epsilon).normalise(scale, offset, y);
  if (n == 8 * lanes) return WholeRow<8, T>(x, epsilon).normalise(scale, offset, y);
  over_columns<T, LayerBody>(n, x, scale, offset, row_moments(n, x, epsilon), y);
}
template <typename T, typename W = Wide<T>>
HWY_INLINE void layer_gradient_row(std::int64_t n, const T* dy, const T* x, const W* scale, W epsilon, T* dx, W* dscale,
                                   W* doffset) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(WideTag<T>()));
  if (n == lanes) return WholeRow<1, T>(x, epsilon).gradient(dy, scale, dx, dscale, doffset);
  if (n == 2 * lanes) return WholeRow<2, T>(x, epsilon).gradient(dy, scale, dx, dscale, doffset);
  if (n == 4 * lanes) return WholeRow<4, T>(x, epsilon).gradient(dy, scale, dx, dscale, doffset);
  const RowMoments<W> m = row_moments(n, x, epsilon);
  W sum = 0, sum_hat = 0;
  layer_sums(n, dy, x, scale, m, dscale, doffset, &sum, &sum_hat);
  over_columns<T, LayerGradientBody>(n, dy, x, scale, m, sum / static_cast<W>(n), sum_hat / static_cast<W>(n), dx);
}

}  // namespace

void layer_f32(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y) {
  layer_row(n, x, scale, offset, epsilon, y);
}
void layer_f64(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y) {
  layer_row(n, x, scale, offset, epsilon, y);
}
void layer_bf16(std::int64_t n, const bfloat16* x, const float* scale, const float* offset, float epsilon,
                bfloat16* y) {
  layer_row(n, x, scale, offset, epsilon, y);
}
void layer_gradient_f32(std::int64_t n, const float* dy, const float* x, const float* scale, float epsilon, float* dx,
                        float* dscale, float* doffset) {
  layer_gradient_row(n, dy, x, scale, epsilon, dx, dscale, doffset);
}
void layer_gradient_f64(std::int64_t n, const double* dy, const double* x, const double* scale, double epsilon,
                        double* dx, double* dscale, double* doffset) {
  layer_gradient_row(n, dy, x, scale, epsilon, dx, dscale, doffset);
}
void layer_gradient_bf16(std::int64_t n, const bfloat16* dy, const bfloat16* x, const float* scale, float epsilon,
                         bfloat16* dx, float* dscale, float* doffset) {
  layer_gradient_row(n, dy, x, scale, epsilon, dx, dscale, doffset);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::norm_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::norm_rows {

HWY_EXPORT(layer_f32);
HWY_EXPORT(layer_f64);
HWY_EXPORT(layer_bf16);
HWY_EXPORT(layer_gradient_f32);
HWY_EXPORT(layer_gradient_f64);
HWY_EXPORT(layer_gradient_bf16);

void layer_norm(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y) {
  HWY_DYNAMIC_DISPATCH(layer_f32)(n, x, scale, offset, epsilon, y);
}
void layer_norm(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y) {
  HWY_DYNAMIC_DISPATCH(layer_f64)(n, x, scale, offset, epsilon, y);
}
void layer_norm(std::int64_t n, const bfloat16* x, const float* scale, const float* offset, float epsilon,
                bfloat16* y) {
  HWY_DYNAMIC_DISPATCH(layer_bf16)(n, x, scale, offset, epsilon, y);
}
void layer_norm_gradient(std::int64_t n, const float* dy, const float* x, const float* scale, float epsilon, float* dx,
                         float* dscale, float* doffset) {
  HWY_DYNAMIC_DISPATCH(layer_gradient_f32)(n, dy, x, scale, epsilon, dx, dscale, doffset);
}
void layer_norm_gradient(std::int64_t n, const double* dy, const double* x, const double* scale, double epsilon,
                         double* dx, double* dscale, double* doffset) {
  HWY_DYNAMIC_DISPATCH(layer_gradient_f64)(n, dy, x, scale, epsilon, dx, dscale, doffset);
}
void layer_norm_gradient(std::int64_t n, const bfloat16* dy, const bfloat16* x, const float* scale, float epsilon,
                         bfloat16* dx, float* dscale, float* doffset) {
  HWY_DYNAMIC_DISPATCH(layer_gradient_bf16)(n, dy, x, scale, epsilon, dx, dscale, doffset);
}

}  // namespace argosy::norm_rows
#endif
