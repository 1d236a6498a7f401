#include "argosy/ops/pool/pool_loops.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/pool/pool_loops_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/ops/elementwise/functions/halves.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// In whole vectors, then once more with a capped tag for the rest: every cell is read once per vector.
struct MaxCells {
  template <typename D, typename T>
  static HWY_INLINE void run(D d, std::int64_t c, const T* const* cells, int count, T* y) {
    auto best = hn::Set(d, static_cast<Wide<T>>(std::numeric_limits<T>::lowest()));
    for (int i = 0; i < count; ++i) {
      const auto x = load_wide(d, cells[i] + c);
      best = hn::IfThenElse(hn::Lt(best, x), x, best);
    }
    store_exact(d, best, y + c);
  }
};

struct GiveCells {
  template <typename D, typename T>
  static HWY_INLINE void run(D d, std::int64_t c, const T* const* cells, T* const* dx, int count, const T* dy,
                             bool add) {
    auto largest = load_wide(d, cells[0] + c);
    for (int i = 1; i < count; ++i) {
      const auto x = load_wide(d, cells[i] + c);
      largest = hn::IfThenElse(hn::Lt(largest, x), x, largest);
    }
    const auto largest_nan = hn::IsNaN(largest);
    auto left = load_wide(d, dy + c);  // what is still to give away
    for (int i = 0; i < count; ++i) {
      const auto x = load_wide(d, cells[i] + c);
      const auto here = hn::Or(hn::Eq(x, largest), hn::And(largest_nan, hn::IsNaN(x)));
      const auto given = hn::IfThenElseZero(here, left);
      left = hn::IfThenZeroElse(here, left);
      if (add) {
        store_rounded(d, hn::Add(load_wide(d, dx[i] + c), given), dx[i] + c);
      } else {
        store_exact(d, given, dx[i] + c);
      }
    }
  }
};

struct MeanCells {
  template <typename D, typename T>
  static HWY_INLINE void run(D d, std::int64_t c, const T* const* cells, int count, T* y) {
    auto sum = load_wide(d, cells[0] + c);
    for (int i = 1; i < count; ++i) sum = hn::Add(sum, load_wide(d, cells[i] + c));
    store_rounded(d, hn::Div(sum, hn::Set(d, static_cast<Wide<T>>(count))), y + c);
  }
};

struct SpreadCells {
  template <typename D, typename T>
  static HWY_INLINE void run(D d, std::int64_t c, T* const* dx, int count, const T* dy, bool add) {
    const auto share = hn::Div(load_wide(d, dy + c), hn::Set(d, static_cast<Wide<T>>(count)));
    for (int i = 0; i < count; ++i) {
      store_rounded(d, add ? hn::Add(load_wide(d, dx[i] + c), share) : share, dx[i] + c);
    }
  }
};

template <typename T, class Body, typename... Arguments>
HWY_INLINE void over_channels(std::int64_t channels, Arguments... arguments) {
  const WideTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) Body::run(d, c, arguments...);
  for (; c < channels; ++c) Body::run(OneTag<T>(), c, arguments...);
}

}  // namespace

void max_f32(const float* const* cells, int count, std::int64_t channels, float* y) {
  over_channels<float, MaxCells>(channels, cells, count, y);
}
void give_f32(const float* const* cells, float* const* dx, int count, std::int64_t channels, const float* dy,
              bool add) {
  over_channels<float, GiveCells>(channels, cells, dx, count, dy, add);
}
void mean_f32(const float* const* cells, int count, std::int64_t channels, float* y) {
  over_channels<float, MeanCells>(channels, cells, count, y);
}
void spread_f32(float* const* dx, int count, std::int64_t channels, const float* dy, bool add) {
  over_channels<float, SpreadCells>(channels, dx, count, dy, add);
}
void max_f64(const double* const* cells, int count, std::int64_t channels, double* y) {
  over_channels<double, MaxCells>(channels, cells, count, y);
}
void give_f64(const double* const* cells, double* const* dx, int count, std::int64_t channels, const double* dy,
              bool add) {
  over_channels<double, GiveCells>(channels, cells, dx, count, dy, add);
}
void mean_f64(const double* const* cells, int count, std::int64_t channels, double* y) {
  over_channels<double, MeanCells>(channels, cells, count, y);
}
void spread_f64(double* const* dx, int count, std::int64_t channels, const double* dy, bool add) {
  over_channels<double, SpreadCells>(channels, dx, count, dy, add);
}
void max_bf16(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y) {
  over_channels<bfloat16, MaxCells>(channels, cells, count, y);
}
void give_bf16(const bfloat16* const* cells, bfloat16* const* dx, int count, std::int64_t channels, const bfloat16* dy,
               bool add) {
  over_channels<bfloat16, GiveCells>(channels, cells, dx, count, dy, add);
}
void mean_bf16(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y) {
  over_channels<bfloat16, MeanCells>(channels, cells, count, y);
}
void spread_bf16(bfloat16* const* dx, int count, std::int64_t channels, const bfloat16* dy, bool add) {
  over_channels<bfloat16, SpreadCells>(channels, dx, count, dy, add);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(max_f32);
HWY_EXPORT(max_f64);
HWY_EXPORT(max_bf16);
HWY_EXPORT(give_f32);
HWY_EXPORT(give_f64);
HWY_EXPORT(give_bf16);
HWY_EXPORT(mean_f32);
HWY_EXPORT(mean_f64);
HWY_EXPORT(mean_bf16);
HWY_EXPORT(spread_f32);
HWY_EXPORT(spread_f64);
HWY_EXPORT(spread_bf16);

template <>
void max_of_cells(const float* const* cells, int count, std::int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(max_f32)(cells, count, channels, y);
}
template <>
void give_to_max(const float* const* cells, float* const* dx, int count, std::int64_t channels, const float* dy,
                 bool add) {
  HWY_DYNAMIC_DISPATCH(give_f32)(cells, dx, count, channels, dy, add);
}
template <>
void mean_of_cells(const float* const* cells, int count, std::int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(mean_f32)(cells, count, channels, y);
}
template <>
void spread_mean(float* const* dx, int count, std::int64_t channels, const float* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(spread_f32)(dx, count, channels, dy, add);
}
template <>
void max_of_cells(const double* const* cells, int count, std::int64_t channels, double* y) {
  HWY_DYNAMIC_DISPATCH(max_f64)(cells, count, channels, y);
}
template <>
void give_to_max(const double* const* cells, double* const* dx, int count, std::int64_t channels, const double* dy,
                 bool add) {
  HWY_DYNAMIC_DISPATCH(give_f64)(cells, dx, count, channels, dy, add);
}
template <>
void mean_of_cells(const double* const* cells, int count, std::int64_t channels, double* y) {
  HWY_DYNAMIC_DISPATCH(mean_f64)(cells, count, channels, y);
}
template <>
void spread_mean(double* const* dx, int count, std::int64_t channels, const double* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(spread_f64)(dx, count, channels, dy, add);
}
template <>
void max_of_cells(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y) {
  HWY_DYNAMIC_DISPATCH(max_bf16)(cells, count, channels, y);
}
template <>
void give_to_max(const bfloat16* const* cells, bfloat16* const* dx, int count, std::int64_t channels,
                 const bfloat16* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(give_bf16)(cells, dx, count, channels, dy, add);
}
template <>
void mean_of_cells(const bfloat16* const* cells, int count, std::int64_t channels, bfloat16* y) {
  HWY_DYNAMIC_DISPATCH(mean_bf16)(cells, count, channels, y);
}
template <>
void spread_mean(bfloat16* const* dx, int count, std::int64_t channels, const bfloat16* dy, bool add) {
  HWY_DYNAMIC_DISPATCH(spread_bf16)(dx, count, channels, dy, add);
}

}  // namespace argosy
#endif
