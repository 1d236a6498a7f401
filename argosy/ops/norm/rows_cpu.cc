#include "argosy/ops/norm/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/norm/rows_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace argosy::norm_rows {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Vector = hn::ScalableTag<T>;
template <typename T>
using One = hn::CappedTag<T, 1>;

// Columns are taken a vector at a time, the last ones singly: body(tag, first column).
template <typename T, template <class> class Body, typename... Arguments>
HWY_INLINE void over_columns(std::int64_t columns, Arguments... arguments) {
  const Vector<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) Body<Vector<T>>::run(d, c, arguments...);
  for (; c < columns; ++c) Body<One<T>>::run(One<T>(), c, arguments...);
}

// The same for sums over rows: four vectors of a row at a time, so that memory is read in order and additions overlap.
template <template <class, int> class Body, typename... Arguments>
HWY_INLINE void over_wide_columns(std::int64_t columns, Arguments... arguments) {
  constexpr int kMany = 4;
  const Vector<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + kMany * lanes <= columns; c += kMany * lanes) Body<Vector<float>, kMany>::run(d, c, columns, arguments...);
  for (; c + lanes <= columns; c += lanes) Body<Vector<float>, 1>::run(d, c, columns, arguments...);
  for (; c < columns; ++c) Body<One<float>, 1>::run(One<float>(), c, columns, arguments...);
}

// Sums of distances from the first row: no cancellation where the mean is large.
template <class D, int kMany>
struct MomentsBody {
  static HWY_INLINE void run(D d, std::int64_t c, std::int64_t columns, std::int64_t rows, const float* x, float* mean,
                             float* squares) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::Vec<D> first[kMany], sum[kMany], sum2[kMany];
    for (int k = 0; k < kMany; ++k) {
      first[k] = hn::LoadU(d, x + c + k * lanes);
      sum[k] = sum2[k] = hn::Zero(d);
    }
    for (std::int64_t r = 1; r < rows; ++r) {
      for (int k = 0; k < kMany; ++k) {
        const auto z = hn::Sub(hn::LoadU(d, x + r * columns + c + k * lanes), first[k]);
        sum[k] = hn::Add(sum[k], z);
        sum2[k] = hn::MulAdd(z, z, sum2[k]);
      }
    }
    for (int k = 0; k < kMany; ++k) {
      const auto away = hn::Div(sum[k], hn::Set(d, static_cast<float>(rows)));
      hn::StoreU(hn::Add(first[k], away), d, mean + c + k * lanes);
      hn::StoreU(hn::Max(hn::NegMulAdd(sum[k], away, sum2[k]), hn::Zero(d)), d, squares + c + k * lanes);
    }
  }
};

template <bool kSide, bool kRelu>
struct Apply {
  template <class D>
  struct Body {
    static HWY_INLINE void run(D d, std::int64_t c, const float* x, const float* factor, const float* shift,
                               const float* side, float* y) {
      auto v = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, factor + c), hn::LoadU(d, shift + c));
      if constexpr (kSide) v = hn::Add(v, hn::LoadU(d, side + c));
      if constexpr (kRelu) v = hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);  // NaN stays, as in Relu
      hn::StoreU(v, d, y + c);
    }
  };
};

// What a ReLU lets through of g, as ReluGrad has it: a product.
template <class D, class V>
HWY_INLINE V gated(D d, V g, V x, V factor, V shift) {
  return hn::Mul(g, hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, factor, shift), hn::Zero(d)), hn::Set(d, 1.0f)));
}

template <bool kGated>
struct GradientSums {
  template <class D, int kMany>
  struct Body {
    static HWY_INLINE void run(D d, std::int64_t c, std::int64_t columns, std::int64_t rows, const float* dy,
                               const float* x, const float* mean, Gate gate, float* sum_dy, float* sum_dyx) {
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      hn::Vec<D> center[kMany], sum[kMany], sum_x[kMany], factor[kMany], shift[kMany];
      for (int k = 0; k < kMany; ++k) {
        center[k] = hn::LoadU(d, mean + c + k * lanes);
        sum[k] = sum_x[k] = hn::Zero(d);
        if constexpr (kGated) {
          factor[k] = hn::LoadU(d, gate.factor + c + k * lanes);
          shift[k] = hn::LoadU(d, gate.shift + c + k * lanes);
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (int k = 0; k < kMany; ++k) {
          const std::int64_t at = r * columns + c + k * lanes;
          const auto v = hn::LoadU(d, x + at);
          auto g = hn::LoadU(d, dy + at);
          if constexpr (kGated) g = gated(d, g, v, factor[k], shift[k]);
          sum[k] = hn::Add(sum[k], g);
          sum_x[k] = hn::MulAdd(g, hn::Sub(v, center[k]), sum_x[k]);
        }
      }
      for (int k = 0; k < kMany; ++k) {
        hn::StoreU(sum[k], d, sum_dy + c + k * lanes);
        hn::StoreU(sum_x[k], d, sum_dyx + c + k * lanes);
      }
    }
  };
};

template <bool kGated>
struct ApplyGradient {
  template <class D>
  struct Body {
    static HWY_INLINE void run(D d, std::int64_t c, const float* dy, const float* x, const float* of_dy,
                               const float* of_x, const float* shift, Gate gate, float* dx) {
      const auto v = hn::LoadU(d, x + c);
      auto g = hn::LoadU(d, dy + c);
      if constexpr (kGated) g = gated(d, g, v, hn::LoadU(d, gate.factor + c), hn::LoadU(d, gate.shift + c));
      const auto from_x = hn::MulAdd(v, hn::LoadU(d, of_x + c), hn::LoadU(d, shift + c));
      hn::StoreU(hn::MulAdd(g, hn::LoadU(d, of_dy + c), from_x), d, dx + c);
    }
  };
};

template <typename T>
struct RowMoments {
  T mean, inverse_deviation;
};

template <typename T>
HWY_INLINE RowMoments<T> row_moments(std::int64_t n, const T* x, T epsilon) {
  const Vector<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, hn::LoadU(d, x + i));
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) total += x[i];
  const T mean = total / static_cast<T>(n);
  const auto center = hn::Set(d, mean);
  auto squares = hn::Zero(d);
  for (i = 0; i + lanes <= n; i += lanes) {
    const auto z = hn::Sub(hn::LoadU(d, x + i), center);
    squares = hn::MulAdd(z, z, squares);
  }
  T total2 = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; i < n; ++i) total2 += (x[i] - mean) * (x[i] - mean);
  return {mean, 1 / std::sqrt(total2 / static_cast<T>(n) + epsilon)};
}

template <class D>
struct LayerBody {
  using T = hn::TFromD<D>;
  static HWY_INLINE void run(D d, std::int64_t c, const T* x, const T* scale, const T* offset, RowMoments<T> m, T* y) {
    const auto hat = hn::Mul(hn::Sub(hn::LoadU(d, x + c), hn::Set(d, m.mean)), hn::Set(d, m.inverse_deviation));
    hn::StoreU(hn::MulAdd(hat, hn::LoadU(d, scale + c), hn::LoadU(d, offset + c)), d, y + c);
  }
};

// The sums over the row of g = dy * scale and of g * xhat; dscale and doffset grow.
template <typename T>
HWY_INLINE void layer_sums(std::int64_t n, const T* dy, const T* x, const T* scale, RowMoments<T> m, T* dscale,
                           T* doffset, T* sum, T* sum_hat) {
  const Vector<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mean = hn::Set(d, m.mean), inverse = hn::Set(d, m.inverse_deviation);
  auto total = hn::Zero(d), total_hat = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    const auto flow = hn::LoadU(d, dy + c);
    const auto hat = hn::Mul(hn::Sub(hn::LoadU(d, x + c), mean), inverse);
    hn::StoreU(hn::MulAdd(flow, hat, hn::LoadU(d, dscale + c)), d, dscale + c);
    hn::StoreU(hn::Add(flow, hn::LoadU(d, doffset + c)), d, doffset + c);
    const auto g = hn::Mul(flow, hn::LoadU(d, scale + c));
    total = hn::Add(total, g);
    total_hat = hn::MulAdd(g, hat, total_hat);
  }
  *sum = hn::GetLane(hn::SumOfLanes(d, total));
  *sum_hat = hn::GetLane(hn::SumOfLanes(d, total_hat));
  for (; c < n; ++c) {
    const T hat = (x[c] - m.mean) * m.inverse_deviation;
    dscale[c] += dy[c] * hat;
    doffset[c] += dy[c];
    *sum += dy[c] * scale[c];
    *sum_hat += dy[c] * scale[c] * hat;
  }
}
template <class D>
struct LayerGradientBody {
  using T = hn::TFromD<D>;
  static HWY_INLINE void run(D d, std::int64_t c, const T* dy, const T* x, const T* scale, RowMoments<T> m, T mean_g,
                             T mean_hat, T* dx) {
    const auto hat = hn::Mul(hn::Sub(hn::LoadU(d, x + c), hn::Set(d, m.mean)), hn::Set(d, m.inverse_deviation));
    const auto g = hn::Mul(hn::LoadU(d, dy + c), hn::LoadU(d, scale + c));
    const auto z = hn::NegMulAdd(hat, hn::Set(d, mean_hat), hn::Sub(g, hn::Set(d, mean_g)));
    hn::StoreU(hn::Mul(z, hn::Set(d, m.inverse_deviation)), d, dx + c);
  }
};

template <typename T>
HWY_INLINE void layer_row(std::int64_t n, const T* x, const T* scale, const T* offset, T epsilon, T* y) {
  over_columns<T, LayerBody>(n, x, scale, offset, row_moments(n, x, epsilon), y);
}
template <typename T>
HWY_INLINE void layer_gradient_row(std::int64_t n, const T* dy, const T* x, const T* scale, T epsilon, T* dx, T* dscale,
                                   T* doffset) {
  const RowMoments<T> m = row_moments(n, x, epsilon);
  T sum = 0, sum_hat = 0;
  layer_sums(n, dy, x, scale, m, dscale, doffset, &sum, &sum_hat);
  over_columns<T, LayerGradientBody>(n, dy, x, scale, m, sum / static_cast<T>(n), sum_hat / static_cast<T>(n), dx);
}

}  // namespace

void moments_here(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares) {
  over_wide_columns<MomentsBody>(columns, rows, x, mean, squares);
}
template <bool kSide, bool kRelu>
void apply_rows(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
                const float* side, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * columns;
    over_columns<float, Apply<kSide, kRelu>::template Body>(columns, x + at, factor, shift, kSide ? side + at : side,
                                                            y + at);
  }
}
void apply_here(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
                const float* side, bool relu, float* y) {
  if (side != nullptr) {
    relu ? apply_rows<true, true>(rows, columns, x, factor, shift, side, y)
         : apply_rows<true, false>(rows, columns, x, factor, shift, side, y);
  } else {
    relu ? apply_rows<false, true>(rows, columns, x, factor, shift, side, y)
         : apply_rows<false, false>(rows, columns, x, factor, shift, side, y);
  }
}
void gradient_sums_here(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                        Gate gate, float* sum_dy, float* sum_dyx) {
  gate.factor != nullptr
      ? over_wide_columns<GradientSums<true>::template Body>(columns, rows, dy, x, mean, gate, sum_dy, sum_dyx)
      : over_wide_columns<GradientSums<false>::template Body>(columns, rows, dy, x, mean, gate, sum_dy, sum_dyx);
}
template <bool kGated>
void apply_gradient_rows(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                         const float* of_x, const float* shift, Gate gate, float* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * columns;
    over_columns<float, ApplyGradient<kGated>::template Body>(columns, dy + at, x + at, of_dy, of_x, shift, gate,
                                                              dx + at);
  }
}
void apply_gradient_here(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                         const float* of_x, const float* shift, Gate gate, float* dx) {
  gate.factor != nullptr ? apply_gradient_rows<true>(rows, columns, dy, x, of_dy, of_x, shift, gate, dx)
                         : apply_gradient_rows<false>(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}
void layer_f32(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y) {
  layer_row(n, x, scale, offset, epsilon, y);
}
void layer_f64(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y) {
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

}  // namespace HWY_NAMESPACE
}  // namespace argosy::norm_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::norm_rows {

HWY_EXPORT(moments_here);
HWY_EXPORT(apply_here);
HWY_EXPORT(gradient_sums_here);
HWY_EXPORT(apply_gradient_here);
HWY_EXPORT(layer_f32);
HWY_EXPORT(layer_f64);
HWY_EXPORT(layer_gradient_f32);
HWY_EXPORT(layer_gradient_f64);

void moments(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares) {
  HWY_DYNAMIC_DISPATCH(moments_here)(rows, columns, x, mean, squares);
}
void apply(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
           const float* side, bool relu, float* y) {
  HWY_DYNAMIC_DISPATCH(apply_here)(rows, columns, x, factor, shift, side, relu, y);
}
void gradient_sums(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(gradient_sums_here)(rows, columns, dy, x, mean, gate, sum_dy, sum_dyx);
}
void apply_gradient(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, float* dx) {
  HWY_DYNAMIC_DISPATCH(apply_gradient_here)(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}
void layer_norm(std::int64_t n, const float* x, const float* scale, const float* offset, float epsilon, float* y) {
  HWY_DYNAMIC_DISPATCH(layer_f32)(n, x, scale, offset, epsilon, y);
}
void layer_norm(std::int64_t n, const double* x, const double* scale, const double* offset, double epsilon, double* y) {
  HWY_DYNAMIC_DISPATCH(layer_f64)(n, x, scale, offset, epsilon, y);
}
void layer_norm_gradient(std::int64_t n, const float* dy, const float* x, const float* scale, float epsilon, float* dx,
                         float* dscale, float* doffset) {
  HWY_DYNAMIC_DISPATCH(layer_gradient_f32)(n, dy, x, scale, epsilon, dx, dscale, doffset);
}
void layer_norm_gradient(std::int64_t n, const double* dy, const double* x, const double* scale, double epsilon,
                         double* dx, double* dscale, double* doffset) {
  HWY_DYNAMIC_DISPATCH(layer_gradient_f64)(n, dy, x, scale, epsilon, dx, dscale, doffset);
}

}  // namespace argosy::norm_rows
#endif
