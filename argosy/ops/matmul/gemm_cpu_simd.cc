#include "argosy/ops/matmul/gemm_simd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/matmul/gemm_cpu_simd.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/matmul/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

// The sums of all lanes of four vectors, as four neighbours in memory.
HWY_INLINE void store_sums(FloatVector v0, FloatVector v1, FloatVector v2, FloatVector v3, float* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = hn::GetLane(v0);
  to[1] = hn::GetLane(v1);
  to[2] = hn::GetLane(v2);
  to[3] = hn::GetLane(v3);
#else
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  const auto sum01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const auto sum23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto p01 = hn::BitCast(pairs, sum01), p23 = hn::BitCast(pairs, sum23);
  const auto sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, p01, p23)),
                            hn::BitCast(d, hn::InterleaveUpper(pairs, p01, p23)));
  // Each block of four lanes now holds its share of the four sums.
  HWY_ALIGN float blocks[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(sums, d, blocks);
  const hn::FixedTag<float, 4> four;
  auto total = hn::Load(four, blocks);
  for (std::size_t i = 4; i < hn::Lanes(d); i += 4) total = hn::Add(total, hn::Load(four, blocks + i));
  hn::StoreU(total, four, to);
#endif
}

// kRows rows of a against four rows of b.
template <int kRows>
HWY_INLINE void dot_block(std::int64_t k, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t n,
                          float* c) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  FloatVector sums[kRows][4];
  for (auto& row : sums) {
    for (auto& v : row) v = hn::Zero(d);
  }
  std::int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    const auto b0 = hn::LoadU(d, b + p), b1 = hn::LoadU(d, b + k + p);
    const auto b2 = hn::LoadU(d, b + 2 * k + p), b3 = hn::LoadU(d, b + 3 * k + p);
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::LoadU(d, a + r * k + p);
      sums[r][0] = hn::MulAdd(x, b0, sums[r][0]);
      sums[r][1] = hn::MulAdd(x, b1, sums[r][1]);
      sums[r][2] = hn::MulAdd(x, b2, sums[r][2]);
      sums[r][3] = hn::MulAdd(x, b3, sums[r][3]);
    }
  }
  if (p < k) {
    const auto rest = static_cast<std::size_t>(k - p);
    for (int r = 0; r < kRows; ++r) {
      const auto x = load_first(d, a + r * k + p, rest);
      for (int j = 0; j < 4; ++j) sums[r][j] = hn::MulAdd(x, load_first(d, b + j * k + p, rest), sums[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) store_sums(sums[r][0], sums[r][1], sums[r][2], sums[r][3], c + r * n);
}

HWY_INLINE float dot(std::int64_t k, const float* a, const float* b) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  std::int64_t p = 0;
  for (; p + lanes <= k; p += lanes) sum = hn::MulAdd(hn::LoadU(d, a + p), hn::LoadU(d, b + p), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; p < k; ++p) total += a[p] * b[p];
  return total;
}

void dot_rows(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
              std::int64_t begin, std::int64_t end) {
  std::int64_t j = begin;
  for (; j + 4 <= end; j += 4) {
    const float* const bj = b + j * k;
    std::int64_t i = 0;
    for (; i + 5 <= m; i += 5) dot_block<5>(k, a + i * k, bj, n, c + i * n + j);
    for (; i + 2 <= m; i += 2) dot_block<2>(k, a + i * k, bj, n, c + i * n + j);
    for (; i < m; ++i) dot_block<1>(k, a + i * k, bj, n, c + i * n + j);
  }
  for (; j < end; ++j) {
    for (std::int64_t i = 0; i < m; ++i) c[i * n + j] = dot(k, a + i * k, b + j * k);
  }
}

using Doubles = hn::ScalableTag<double>;

// kRows x kVectors of the result stay in registers while p runs; columns beyond n are masked off.
template <int kRows, int kVectors>
HWY_INLINE void f64_block(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column,
                          const double* b, double* c, std::int64_t columns) {
  const Doubles d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Doubles> sums[kRows][kVectors];
  for (auto& row : sums) {
    for (auto& v : row) v = hn::Zero(d);
  }
  const auto left = static_cast<std::size_t>(columns - (kVectors - 1) * lanes);
  for (std::int64_t p = 0; p < k; ++p) {
    hn::Vec<Doubles> row[kVectors];
    for (int v = 0; v + 1 < kVectors; ++v) row[v] = hn::LoadU(d, b + p * n + v * lanes);
    row[kVectors - 1] = load_first(d, b + p * n + (kVectors - 1) * lanes, left);
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a[r * a_row + p * a_column]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * n + v * lanes);
    hn::BlendedStore(sums[r][kVectors - 1], hn::FirstN(d, left), d, c + r * n + (kVectors - 1) * lanes);
  }
}

// Rows [begin, end) of one block of columns.
template <int kVectors>
void f64_columns(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column,
                 const double* b, double* c, std::int64_t begin, std::int64_t end, std::int64_t columns) {
  std::int64_t i = begin;
  for (; i + 4 <= end; i += 4) f64_block<4, kVectors>(n, k, a + i * a_row, a_row, a_column, b, c + i * n, columns);
  for (; i < end; ++i) f64_block<1, kVectors>(n, k, a + i * a_row, a_row, a_column, b, c + i * n, columns);
}

void f64(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column, const double* b,
         double* c, std::int64_t begin, std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Doubles()));
  for (std::int64_t j = 0; j < n;) {
    check_interrupted();
    const bool wide = n - j > 2 * lanes;
    const std::int64_t columns = std::min(n - j, wide ? 3 * lanes : lanes);
    if (wide) {
      f64_columns<3>(n, k, a, a_row, a_column, b + j, c + j, begin, end, columns);
    } else {
      f64_columns<1>(n, k, a, a_row, a_column, b + j, c + j, begin, end, columns);
    }
    j += columns;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(dot_rows);
HWY_EXPORT(f64);

void gemm_dot_rows(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                   std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(dot_rows)(m, n, k, a, b, c, begin, end);
}

void gemm_f64(std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row, std::int64_t a_column,
              const double* b, double* c, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(f64)(n, k, a, a_row, a_column, b, c, begin, end);
}

}  // namespace argosy
#endif
