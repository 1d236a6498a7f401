#include "argosy/ops/activation/column_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/activation/column_sums_cpu.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "argosy/ops/elementwise/functions/halves.inc"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Sums kVectors vectors of columns, which stay in registers over all rows.
template <int kVectors, typename T>
HWY_INLINE void columns_block(std::int64_t rows, std::int64_t columns, const T* x, Wide<T>* sums) {
  const WideTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<WideTag<T>> total[kVectors];
  for (auto& v : total) v = hn::Zero(d);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) total[v] = hn::Add(total[v], load_wide(d, x + r * columns + v * lanes));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(total[v], d, sums + v * lanes);
}

template <typename T>
void wide_rows(std::int64_t rows, std::int64_t columns, const T* x, Wide<T>* sums) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(WideTag<T>()));
  std::int64_t c = 0;
  for (; c + 8 * lanes <= columns; c += 8 * lanes) columns_block<8>(rows, columns, x + c, sums + c);
  for (; c + 4 * lanes <= columns; c += 4 * lanes) columns_block<4>(rows, columns, x + c, sums + c);
  for (; c + lanes <= columns; c += lanes) columns_block<1>(rows, columns, x + c, sums + c);
  for (; c < columns; ++c) {
    Wide<T> total = 0;
    for (std::int64_t r = 0; r < rows; ++r) total += static_cast<Wide<T>>(x[r * columns + c]);
    sums[c] = total;
  }
}

// For narrow matrices, sixteen rows are taken as one; the result is then folded.
template <typename T>
void sum_rows(std::int64_t rows, std::int64_t columns, const T* x, Wide<T>* sums) {
  constexpr std::int64_t kFold = 16, kNarrow = 64;
  if (columns >= kNarrow || rows < 2 * kFold) return wide_rows(rows, columns, x, sums);
  Wide<T> folded[kFold * kNarrow];
  const std::int64_t blocks = rows / kFold;
  wide_rows(blocks, columns * kFold, x, folded);
  for (std::int64_t c = 0; c < columns; ++c) {
    Wide<T> total = 0;
    for (std::int64_t i = 0; i < kFold; ++i) total += folded[i * columns + c];
    for (std::int64_t r = blocks * kFold; r < rows; ++r) total += static_cast<Wide<T>>(x[r * columns + c]);
    sums[c] = total;
  }
}

}  // namespace

void sum_rows_f32(std::int64_t rows, std::int64_t columns, const float* x, float* sums) {
  sum_rows(rows, columns, x, sums);
}
void sum_rows_f64(std::int64_t rows, std::int64_t columns, const double* x, double* sums) {
  sum_rows(rows, columns, x, sums);
}
void sum_rows_bf16(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* sums) {
  sum_rows(rows, columns, x, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(sum_rows_f32);
HWY_EXPORT(sum_rows_f64);
HWY_EXPORT(sum_rows_bf16);

void add_up_rows(std::int64_t rows, std::int64_t columns, const float* x, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_rows_f32)(rows, columns, x, sums);
}
void add_up_rows(std::int64_t rows, std::int64_t columns, const double* x, double* sums) {
  HWY_DYNAMIC_DISPATCH(sum_rows_f64)(rows, columns, x, sums);
}
void add_up_rows(std::int64_t rows, std::int64_t columns, const bfloat16* x, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_rows_bf16)(rows, columns, x, sums);
}

}  // namespace argosy
#endif
