#include "argosy/ops/softmax/softmax_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/softmax/softmax_rows_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include "argosy/ops/elementwise/functions/halves.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::softmax_rows {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): loads and stores of this target

template <typename T>
using Tag = WideTag<T>;

template <typename T>
HWY_INLINE Wide<T> largest(const T* x, std::int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto top = hn::Set(d, -std::numeric_limits<Wide<T>>::infinity());
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = load_wide(d, x + i);
    top = hn::IfThenElse(hn::Lt(top, v), v, top);
  }
  if (i < n) {
    const auto v = load_wide_some(d, x + i, static_cast<std::size_t>(n - i));
    top = hn::IfThenElse(hn::Lt(top, v), v, top);
  }
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

// exp(x - top), with NaN kept: Highway's own exponential of it is 0.
template <class D, class V>
HWY_INLINE V shifted_exp(D d, V x, V top) {
  const auto z = hn::Sub(x, top);
  return hn::IfThenElse(hn::IsNaN(z), z, hn::Exp(d, z));
}

// The sum of exp(x - top); the terms go to `y` if there is one.
template <bool store, typename T>
HWY_INLINE Wide<T> sum_exp(const T* x, Wide<T>* y, std::int64_t n, Wide<T> top) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto tops = hn::Set(d, top);
  auto sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto e = shifted_exp(d, load_wide(d, x + i), tops);
    sum = hn::Add(sum, e);
    if constexpr (store) hn::StoreU(e, d, y + i);
  }
  if (i < n) {
    const auto rest = static_cast<std::size_t>(n - i);
    const auto e = shifted_exp(d, load_wide_some(d, x + i, rest), tops);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, rest), e));
    if constexpr (store) store_some(d, e, y + i, rest);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
HWY_INLINE void scale(T* y, std::int64_t n, T factor) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factors = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), factors), d, y + i);
  for (; i < n; ++i) y[i] *= factor;
}

// `wide`: room for a row of terms; y itself where nothing is rounded.
template <typename T>
HWY_INLINE void softmax_row(const T* x, T* y, Wide<T>* wide, std::int64_t n, bool logarithm) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Wide<T> top = largest(x, n);
  std::int64_t i = 0;
  if (!logarithm) {
    const Wide<T> sum = sum_exp<true>(x, wide, n, top);
    if constexpr (std::is_same_v<T, Wide<T>>) return scale(y, n, 1 / sum);
    const auto factors = hn::Set(d, 1 / sum);
    for (; i + lanes <= n; i += lanes) store_rounded(d, hn::Mul(hn::LoadU(d, wide + i), factors), y + i);
    for (; i < n; ++i) y[i] = T(wide[i] * (1 / sum));
    return;
  }
  const Wide<T> shift = std::log(sum_exp<false, T>(x, nullptr, n, top));
  const auto tops = hn::Set(d, top), shifts = hn::Set(d, shift);
  for (; i + lanes <= n; i += lanes) {
    store_rounded(d, hn::Sub(hn::Sub(load_wide(d, x + i), tops), shifts), y + i);
  }
  for (; i < n; ++i) y[i] = T((static_cast<Wide<T>>(x[i]) - top) - shift);
}

template <typename T>
HWY_INLINE T dense_row(const T* x, const T* labels, T* backprop, std::int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T top = largest(x, n);
  const T sum = sum_exp<false, T>(x, nullptr, n, top);
  const T shift = std::log(sum);
  const auto tops = hn::Set(d, top), shifts = hn::Set(d, shift), over = hn::Set(d, 1 / sum);
  auto loss = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i), p = hn::LoadU(d, labels + i);
    loss = hn::MulAdd(p, hn::Sub(shifts, hn::Sub(v, tops)), loss);
    hn::StoreU(hn::Sub(hn::Mul(shifted_exp(d, v, tops), over), p), d, backprop + i);
  }
  if (i < n) {
    const auto rest = static_cast<std::size_t>(n - i);
    const auto v = load_some(d, x + i, rest), p = load_some(d, labels + i, rest);
    const auto term = hn::Mul(p, hn::Sub(shifts, hn::Sub(v, tops)));
    loss = hn::Add(loss, hn::IfThenElseZero(hn::FirstN(d, rest), term));
    store_some(d, hn::Sub(hn::Mul(shifted_exp(d, v, tops), over), p), backprop + i, rest);
  }
  return hn::GetLane(hn::SumOfLanes(d, loss));
}

template <typename T>
HWY_INLINE T sparse_row(const T* x, std::int64_t label, T* backprop, std::int64_t n) {
  const T top = largest(x, n);
  const T logit = x[label] - top;
  const T sum = sum_exp<true>(x, backprop, n, top);
  scale(backprop, n, 1 / sum);
  backprop[label] -= 1;
  return std::log(sum) - logit;
}

}  // namespace

void softmax_f32(const float* x, float* y, std::int64_t n, bool logarithm) { softmax_row(x, y, y, n, logarithm); }
void softmax_f64(const double* x, double* y, std::int64_t n, bool logarithm) { softmax_row(x, y, y, n, logarithm); }
void softmax_bf16(const bfloat16* x, bfloat16* y, float* wide, std::int64_t n, bool logarithm) {
  softmax_row(x, y, wide, n, logarithm);
}
float dense_f32(const float* x, const float* p, float* b, std::int64_t n) { return dense_row(x, p, b, n); }
double dense_f64(const double* x, const double* p, double* b, std::int64_t n) { return dense_row(x, p, b, n); }
float sparse_f32(const float* x, std::int64_t label, float* b, std::int64_t n) { return sparse_row(x, label, b, n); }
double sparse_f64(const double* x, std::int64_t label, double* b, std::int64_t n) { return sparse_row(x, label, b, n); }

}  // namespace HWY_NAMESPACE
}  // namespace argosy::softmax_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::softmax_rows {

HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(softmax_bf16);
HWY_EXPORT(dense_f32);
HWY_EXPORT(dense_f64);
HWY_EXPORT(sparse_f32);
HWY_EXPORT(sparse_f64);

void softmax(const float* x, float* y, std::int64_t n, bool logarithm) {
  HWY_DYNAMIC_DISPATCH(softmax_f32)(x, y, n, logarithm);
}
void softmax(const double* x, double* y, std::int64_t n, bool logarithm) {
  HWY_DYNAMIC_DISPATCH(softmax_f64)(x, y, n, logarithm);
}
void softmax(const bfloat16* x, bfloat16* y, float* wide, std::int64_t n, bool logarithm) {
  HWY_DYNAMIC_DISPATCH(softmax_bf16)(x, y, wide, n, logarithm);
}
float cross_entropy(const float* x, const float* labels, float* backprop, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dense_f32)(x, labels, backprop, n);
}
double cross_entropy(const double* x, const double* labels, double* backprop, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dense_f64)(x, labels, backprop, n);
}
float cross_entropy(const float* x, std::int64_t label, float* backprop, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(sparse_f32)(x, label, backprop, n);
}
double cross_entropy(const double* x, std::int64_t label, double* backprop, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(sparse_f64)(x, label, backprop, n);
}

}  // namespace argosy::softmax_rows
#endif
