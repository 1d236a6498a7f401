#include "argosy/ops/norm/batch_norm_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/norm/batch_norm_loops_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "argosy/ops/elementwise/functions/halves.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy::norm_rows {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using namespace argosy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): loads and stores of this target

// T lies in memory; arithmetic is float32's.
using Vector = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

// Columns are taken a vector at a time, the last ones singly: body(tag, first column).
template <template <class> class Body, typename... Arguments>
HWY_INLINE void over_columns(std::int64_t columns, Arguments... arguments) {
  const Vector d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) Body<Vector>::run(d, c, arguments...);
  for (; c < columns; ++c) Body<One>::run(One(), c, arguments...);
}

// The same for sums over rows: four vectors of a row at a time, so that memory is read in order and additions overlap.
template <template <class, int> class Body, typename... Arguments>
HWY_INLINE void over_wide_columns(std::int64_t columns, Arguments... arguments) {
  constexpr int kMany = 4;
  const Vector d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + kMany * lanes <= columns; c += kMany * lanes) Body<Vector, kMany>::run(d, c, columns, arguments...);
  for (; c + lanes <= columns; c += lanes) Body<Vector, 1>::run(d, c, columns, arguments...);
  for (; c < columns; ++c) Body<One, 1>::run(One(), c, columns, arguments...);
}

// Sums of distances from the mean of the rows before, block of rows after block, which is moved on after each: near the
// mean little cancels, wherever single rows lie. The first block starts at its first row: it is short, so that even
// where that row lies far away only what it adds itself cancels.
template <class D, int kMany>
struct MomentsBody {
  static constexpr std::int64_t kFew = 8, kBlock = 64;

  template <typename T>
  static HWY_INLINE void run(D d, std::int64_t c, std::int64_t columns, std::int64_t rows, const T* x, float* mean,
                             float* squares) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto at = [&](std::int64_t r, int k) { return load_wide(d, x + r * columns + c + k * lanes); };
    hn::Vec<D> center[kMany], rest[kMany], total[kMany], sum[kMany], sum2[kMany];  // the mean: center + rest
    for (int k = 0; k < kMany; ++k) {
      center[k] = at(0, k);
      rest[k] = total[k] = hn::Zero(d);
    }
    for (std::int64_t begin = 0, end = 0; begin < rows; begin = end) {
      end = std::min(begin + (begin == 0 ? kFew : kBlock), rows);
      for (int k = 0; k < kMany; ++k) sum[k] = sum2[k] = hn::Zero(d);
      for (std::int64_t r = begin; r < end; ++r) {
        for (int k = 0; k < kMany; ++k) {
          const auto z = hn::Sub(at(r, k), center[k]);
          sum[k] = hn::Add(sum[k], z);
          sum2[k] = hn::MulAdd(z, z, sum2[k]);
        }
      }
      // The squares so far are of distances from this center too: all of them move on together.
      const auto share = hn::Set(d, 1 / static_cast<float>(end)), before = hn::Set(d, static_cast<float>(begin));
      for (int k = 0; k < kMany; ++k) {
        const auto all = hn::MulAdd(rest[k], before, sum[k]), away = hn::Mul(all, share);
        const auto next = hn::Add(center[k], away);
        rest[k] = hn::Sub(away, hn::Sub(next, center[k]));
        center[k] = next;
        total[k] = hn::Add(total[k], hn::NegMulAdd(all, away, sum2[k]));
      }
    }
    for (int k = 0; k < kMany; ++k) {
      hn::StoreU(center[k], d, mean + c + k * lanes);
      // NaN stays: infinite rows have no variance.
      hn::StoreU(hn::IfThenZeroElse(hn::Lt(total[k], hn::Zero(d)), total[k]), d, squares + c + k * lanes);
    }
  }
};

template <bool kSide, bool kRelu>
struct Apply {
  template <class D>
  struct Body {
    template <typename T>
    static HWY_INLINE void run(D d, std::int64_t c, const T* x, const float* factor, const float* shift, const T* side,
                               T* y) {
      auto v = hn::MulAdd(load_wide(d, x + c), hn::LoadU(d, factor + c), hn::LoadU(d, shift + c));
      if constexpr (kSide) v = hn::Add(v, load_wide(d, side + c));
      if constexpr (kRelu) v = hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);  // NaN stays, as in Relu
      store_rounded(d, v, y + c);
    }
  };
};

// What a ReLU lets through of g, as ReluGrad has it: a product. Open above zero; of bfloat16, above what rounds to it.
template <typename T, class D, class V>
HWY_INLINE V gated(D d, V g, V x, V factor, V shift) {
  const auto closed = hn::Set(d, std::is_same_v<T, bfloat16> ? 0x1p-134f : 0.0f);
  return hn::Mul(g, hn::IfThenElseZero(hn::Gt(hn::MulAdd(x, factor, shift), closed), hn::Set(d, 1.0f)));
}

template <bool kGated>
struct GradientSums {
  template <class D, int kMany>
  struct Body {
    template <typename T>
    static HWY_INLINE void run(D d, std::int64_t c, std::int64_t columns, std::int64_t rows, const T* dy, const T* x,
                               const float* mean, Gate gate, float* sum_dy, float* sum_dyx) {
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
          const auto v = load_wide(d, x + at);
          auto g = load_wide(d, dy + at);
          if constexpr (kGated) g = gated<T>(d, g, v, factor[k], shift[k]);
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
    template <typename T>
    static HWY_INLINE void run(D d, std::int64_t c, const T* dy, const T* x, const float* of_dy, const float* of_x,
                               const float* shift, Gate gate, T* dx) {
      const auto v = load_wide(d, x + c);
      auto g = load_wide(d, dy + c);
      if constexpr (kGated) g = gated<T>(d, g, v, hn::LoadU(d, gate.factor + c), hn::LoadU(d, gate.shift + c));
      const auto from_x = hn::MulAdd(v, hn::LoadU(d, of_x + c), hn::LoadU(d, shift + c));
      store_rounded(d, hn::MulAdd(g, hn::LoadU(d, of_dy + c), from_x), dx + c);
    }
  };
};

template <typename T>
void moments_of(std::int64_t rows, std::int64_t columns, const T* x, float* mean, float* squares) {
  over_wide_columns<MomentsBody>(columns, rows, x, mean, squares);
}
template <bool kSide, bool kRelu, typename T>
void apply_rows(std::int64_t rows, std::int64_t columns, const T* x, const float* factor, const float* shift,
                const T* side, T* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * columns;
    over_columns<Apply<kSide, kRelu>::template Body>(columns, x + at, factor, shift, kSide ? side + at : side, y + at);
  }
}
template <typename T>
void apply_to(std::int64_t rows, std::int64_t columns, const T* x, const float* factor, const float* shift,
              const T* side, bool relu, T* y) {
  if (side != nullptr) {
    relu ? apply_rows<true, true>(rows, columns, x, factor, shift, side, y)
         : apply_rows<true, false>(rows, columns, x, factor, shift, side, y);
  } else {
    relu ? apply_rows<false, true>(rows, columns, x, factor, shift, side, y)
         : apply_rows<false, false>(rows, columns, x, factor, shift, side, y);
  }
}
template <typename T>
void gradient_sums_of(std::int64_t rows, std::int64_t columns, const T* dy, const T* x, const float* mean, Gate gate,
                      float* sum_dy, float* sum_dyx) {
  gate.factor != nullptr
      ? over_wide_columns<GradientSums<true>::template Body>(columns, rows, dy, x, mean, gate, sum_dy, sum_dyx)
      : over_wide_columns<GradientSums<false>::template Body>(columns, rows, dy, x, mean, gate, sum_dy, sum_dyx);
}
template <bool kGated, typename T>
void apply_gradient_rows(std::int64_t rows, std::int64_t columns, const T* dy, const T* x, const float* of_dy,
                         const float* of_x, const float* shift, Gate gate, T* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * columns;
    over_columns<ApplyGradient<kGated>::template Body>(columns, dy + at, x + at, of_dy, of_x, shift, gate, dx + at);
  }
}
template <typename T>
void apply_gradient_to(std::int64_t rows, std::int64_t columns, const T* dy, const T* x, const float* of_dy,
                       const float* of_x, const float* shift, Gate gate, T* dx) {
  gate.factor != nullptr ? apply_gradient_rows<true>(rows, columns, dy, x, of_dy, of_x, shift, gate, dx)
                         : apply_gradient_rows<false>(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}

}  // namespace

void moments_f32(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares) {
  moments_of(rows, columns, x, mean, squares);
}
void moments_bf16(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* mean, float* squares) {
  moments_of(rows, columns, x, mean, squares);
}
void apply_f32(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
               const float* side, bool relu, float* y) {
  apply_to(rows, columns, x, factor, shift, side, relu, y);
}
void apply_bf16(std::int64_t rows, std::int64_t columns, const bfloat16* x, const float* factor, const float* shift,
                const bfloat16* side, bool relu, bfloat16* y) {
  apply_to(rows, columns, x, factor, shift, side, relu, y);
}
void gradient_sums_f32(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                       Gate gate, float* sum_dy, float* sum_dyx) {
  gradient_sums_of(rows, columns, dy, x, mean, gate, sum_dy, sum_dyx);
}
void gradient_sums_bf16(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x,
                        const float* mean, Gate gate, float* sum_dy, float* sum_dyx) {
  gradient_sums_of(rows, columns, dy, x, mean, gate, sum_dy, sum_dyx);
}
void apply_gradient_f32(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                        const float* of_x, const float* shift, Gate gate, float* dx) {
  apply_gradient_to(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}
void apply_gradient_bf16(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x,
                         const float* of_dy, const float* of_x, const float* shift, Gate gate, bfloat16* dx) {
  apply_gradient_to(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy::norm_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy::norm_rows {

HWY_EXPORT(moments_f32);
HWY_EXPORT(moments_bf16);
HWY_EXPORT(apply_f32);
HWY_EXPORT(apply_bf16);
HWY_EXPORT(gradient_sums_f32);
HWY_EXPORT(gradient_sums_bf16);
HWY_EXPORT(apply_gradient_f32);
HWY_EXPORT(apply_gradient_bf16);

void moments(std::int64_t rows, std::int64_t columns, const float* x, float* mean, float* squares) {
  HWY_DYNAMIC_DISPATCH(moments_f32)(rows, columns, x, mean, squares);
}
void moments(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* mean, float* squares) {
  HWY_DYNAMIC_DISPATCH(moments_bf16)(rows, columns, x, mean, squares);
}
void apply(std::int64_t rows, std::int64_t columns, const float* x, const float* factor, const float* shift,
           const float* side, bool relu, float* y) {
  HWY_DYNAMIC_DISPATCH(apply_f32)(rows, columns, x, factor, shift, side, relu, y);
}
void apply(std::int64_t rows, std::int64_t columns, const bfloat16* x, const float* factor, const float* shift,
           const bfloat16* side, bool relu, bfloat16* y) {
  HWY_DYNAMIC_DISPATCH(apply_bf16)(rows, columns, x, factor, shift, side, relu, y);
}
void gradient_sums(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(gradient_sums_f32)(rows, columns, dy, x, mean, gate, sum_dy, sum_dyx);
}
void gradient_sums(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* mean,
                   Gate gate, float* sum_dy, float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(gradient_sums_bf16)(rows, columns, dy, x, mean, gate, sum_dy, sum_dyx);
}
void apply_gradient(std::int64_t rows, std::int64_t columns, const float* dy, const float* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, float* dx) {
  HWY_DYNAMIC_DISPATCH(apply_gradient_f32)(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}
void apply_gradient(std::int64_t rows, std::int64_t columns, const bfloat16* dy, const bfloat16* x, const float* of_dy,
                    const float* of_x, const float* shift, Gate gate, bfloat16* dx) {
  HWY_DYNAMIC_DISPATCH(apply_gradient_bf16)(rows, columns, dy, x, of_dy, of_x, shift, gate, dx);
}

}  // namespace argosy::norm_rows
#endif
