#include "argosy/ops/pool/cells.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/pool/cells_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In whole vectors, then once more with a capped tag for the rest: every cell is read once per vector.
template <typename D, typename T>
HWY_INLINE void max_vector(D d, const T* const* cells, int count, std::int64_t c, T* y) {
  auto best = hn::Set(d, std::numeric_limits<T>::lowest());
  for (int i = 0; i < count; ++i) {
    const auto x = hn::LoadU(d, cells[i] + c);
    best = hn::IfThenElse(hn::Lt(best, x), x, best);
  }
  hn::StoreU(best, d, y + c);
}
template <typename T>
void max_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) max_vector(d, cells, count, c, y);
  for (; c < channels; ++c) max_vector(hn::CappedTag<T, 1>(), cells, count, c, y);
}
void max_f32(const float* const* cells, int count, std::int64_t channels, float* y) {
  max_cells(cells, count, channels, y);
}
void max_f64(const double* const* cells, int count, std::int64_t channels, double* y) {
  max_cells(cells, count, channels, y);
}

template <typename D, typename T>
HWY_INLINE void give_vector(D d, const T* const* cells, T* const* dx, int count, std::int64_t c, const T* dy,
                            bool add) {
  auto largest = hn::LoadU(d, cells[0] + c);
  for (int i = 1; i < count; ++i) {
    const auto x = hn::LoadU(d, cells[i] + c);
    largest = hn::IfThenElse(hn::Lt(largest, x), x, largest);
  }
  const auto largest_nan = hn::IsNaN(largest);
  auto left = hn::LoadU(d, dy + c);  // what is still to give away
  for (int i = 0; i < count; ++i) {
    const auto x = hn::LoadU(d, cells[i] + c);
    const auto here = hn::Or(hn::Eq(x, largest), hn::And(largest_nan, hn::IsNaN(x)));
    const auto given = hn::IfThenElseZero(here, left);
    left = hn::IfThenZeroElse(here, left);
    hn::StoreU(add ? hn::Add(hn::LoadU(d, dx[i] + c), given) : given, d, dx[i] + c);
  }
}
template <typename T>
void give_cells(const T* const* cells, T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) give_vector(d, cells, dx, count, c, dy, add);
  for (; c < channels; ++c) give_vector(hn::CappedTag<T, 1>(), cells, dx, count, c, dy, add);
}
void give_f32(const float* const* cells, float* const* dx, int count, std::int64_t channels, const float* dy,
              bool add) {
  give_cells(cells, dx, count, channels, dy, add);
}
void give_f64(const double* const* cells, double* const* dx, int count, std::int64_t channels, const double* dy,
              bool add) {
  give_cells(cells, dx, count, channels, dy, add);
}

template <typename D, typename T>
HWY_INLINE void mean_vector(D d, const T* const* cells, int count, std::int64_t c, T* y) {
  auto sum = hn::LoadU(d, cells[0] + c);
  for (int i = 1; i < count; ++i) sum = hn::Add(sum, hn::LoadU(d, cells[i] + c));
  hn::StoreU(hn::Div(sum, hn::Set(d, static_cast<T>(count))), d, y + c);
}
template <typename T>
void mean_cells(const T* const* cells, int count, std::int64_t channels, T* y) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) mean_vector(d, cells, count, c, y);
  for (; c < channels; ++c) mean_vector(hn::CappedTag<T, 1>(), cells, count, c, y);
}
void mean_f32(const float* const* cells, int count, std::int64_t channels, float* y) {
  mean_cells(cells, count, channels, y);
}
void mean_f64(const double* const* cells, int count, std::int64_t channels, double* y) {
  mean_cells(cells, count, channels, y);
}

template <typename D, typename T>
HWY_INLINE void spread_vector(D d, T* const* dx, int count, std::int64_t c, const T* dy, bool add) {
  const auto share = hn::Div(hn::LoadU(d, dy + c), hn::Set(d, static_cast<T>(count)));
  for (int i = 0; i < count; ++i) {
    hn::StoreU(add ? hn::Add(hn::LoadU(d, dx[i] + c), share) : share, d, dx[i] + c);
  }
}
template <typename T>
void spread_cells(T* const* dx, int count, std::int64_t channels, const T* dy, bool add) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) spread_vector(d, dx, count, c, dy, add);
  for (; c < channels; ++c) spread_vector(hn::CappedTag<T, 1>(), dx, count, c, dy, add);
}
void spread_f32(float* const* dx, int count, std::int64_t channels, const float* dy, bool add) {
  spread_cells(dx, count, channels, dy, add);
}
void spread_f64(double* const* dx, int count, std::int64_t channels, const double* dy, bool add) {
  spread_cells(dx, count, channels, dy, add);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(max_f32);
HWY_EXPORT(max_f64);
HWY_EXPORT(give_f32);
HWY_EXPORT(give_f64);
HWY_EXPORT(mean_f32);
HWY_EXPORT(mean_f64);
HWY_EXPORT(spread_f32);
HWY_EXPORT(spread_f64);

template <>
void max_of_cells(const float* const* cells, int count, std::int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(max_f32)(cells, count, channels, y);
}
template <>
void max_of_cells(const double* const* cells, int count, std::int64_t channels, double* y) {
  HWY_DYNAMIC_DISPATCH(max_f64)(cells, count, channels, y);
}
template <>
void give_to_max(const float* const* cells, float* const* dx, int count, std::int64_t channels, const float* dy,
                 bool add) {
  HWY_DYNAMIC_DISPATCH(give_f32)(cells, dx, count, channels, dy, add);
}
template <>
void give_to_max(const double* const* cells, double* const* dx, int count, std::int64_t channels, const double* dy,
                 bool add) {
  HWY_DYNAMIC_DISPATCH(give_f64)(cells, dx, count, channels, dy, add);
}
template <>
void mean_of_cells(const float* const* cells, int count, std::int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(mean_f32)(cells, count, channels, y);
}
template <>
void mean_of_cells(const double* const* cells, int count, std::int64_t channels, double* y) {
  HWY_DYNAMIC_DISPATCH(mean_f64)(cells, count, channels, y);
}
template <>
void spread_mean(float* const* dx, int count, std::int64_t channels, const float* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(spread_f32)(dx, count, channels, dy, add);
}
template <>
void spread_mean(double* const* dx, int count, std::int64_t channels, const double* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(spread_f64)(dx, count, channels, dy, add);
}

}  // namespace argosy
#endif
