#include "argosy/ops/matmul/batch_sum.h"

#include <algorithm>
#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/matmul/batch_sum_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/parallel.h"

#ifndef ARGOSY_OPS_MATMUL_BATCH_SUM_ONCE
#define ARGOSY_OPS_MATMUL_BATCH_SUM_ONCE
namespace argosy {

constexpr std::int64_t kBlockRows = 6;  // of the result, in registers
// Columns of a whose rows lie further apart are copied together first: the cache has few places for far neighbours.
constexpr std::int64_t kFarApart = 256;
constexpr std::int64_t kPackedBlocks = 8;  // at once, by one thread: read for all panels
constexpr int kMostLevels = 3;             // log2(kBatchParts)

}  // namespace argosy
#endif

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }

// Vectors of a panel that stay in registers, times kBlockRows: targets with 32 registers hold four, others two.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

// Panels of b: kVectors wide, the columns that are left in panels of one vector.
struct Panels {
  explicit Panels(std::int64_t n)
      : wide(n / (kVectors * lanes())), narrow((n - wide * kVectors * lanes() + lanes() - 1) / lanes()) {}
  std::int64_t count() const { return wide + narrow; }
  std::int64_t first(std::int64_t p) const { return lanes() * (p <= wide ? p * kVectors : wide * (kVectors - 1) + p); }
  std::int64_t width(std::int64_t p) const { return lanes() * (p < wide ? kVectors : 1); }
  std::int64_t columns() const { return first(count()); }
  std::int64_t wide, narrow;
};

// Sums of parts that wait for their neighbours, by the level of the tree.
struct Waiting {
  alignas(64) float sums[kMostLevels][kBlockRows * kVectors * HWY_MAX_BYTES / sizeof(float)];
};

// kRows x n vectors of c, from b packed as [row of the batch][n vectors].
template <int kRows, int n>
HWY_INLINE void sum_parts(std::span<const std::int64_t> ends, const float* HWY_RESTRICT a, std::int64_t a_row,
                          const float* HWY_RESTRICT b, Waiting& waiting, Vector (&sums)[kRows][n]) {
  const Floats d;
  const std::int64_t step = lanes();
  std::int64_t k = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    for (auto& row : sums) {
      for (auto& v : row) v = hn::Zero(d);
    }
    for (; k < ends[part]; ++k, a += a_row, b += n * step) {
      Vector line[n];
      for (int v = 0; v < n; ++v) line[v] = hn::LoadU(d, b + v * step);
      for (int r = 0; r < kRows; ++r) {
        const Vector x = hn::Set(d, a[r]);
        for (int v = 0; v < n; ++v) sums[r][v] = hn::MulAdd(x, line[v], sums[r][v]);
      }
    }
    // Like a binary counter: what waits at a level is the sum of as many parts, those before.
    int level = 0;
    for (std::size_t bits = part; bits % 2 == 1; bits /= 2, ++level) {
      const float* const left = waiting.sums[level];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < n; ++v) sums[r][v] = hn::Add(hn::Load(d, left + (r * n + v) * step), sums[r][v]);
      }
    }
    if (part + 1 == ends.size()) return;
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < n; ++v) hn::Store(sums[r][v], d, waiting.sums[level] + (r * n + v) * step);
    }
  }
}

// The first `columns` columns of the panel are c's.
template <int kRows, int n>
void block(const BatchSum& s, const float* a, std::int64_t a_row, const float* b, std::int64_t columns, float* c) {
  const Floats d;
  const std::int64_t step = lanes();
  Waiting waiting;
  Vector sums[kRows][n];
  sum_parts<kRows, n>(s.ends, a, a_row, b, waiting, sums);
  for (int r = 0; r < kRows; ++r) {
    if (columns == n * step) {
      for (int v = 0; v < n; ++v) hn::StoreU(sums[r][v], d, c + r * s.n + v * step);
    } else {  // of one vector
      hn::BlendedStore(sums[r][0], hn::FirstN(d, static_cast<std::size_t>(columns)), d, c + r * s.n);
    }
  }
}

// `rows` rows of one panel. a: in the matrix, or packed in blocks of [row of the batch][kBlockRows], the last one with
// as many columns as there are rows left.
template <int n>
void panel_rows(const BatchSum& s, std::int64_t rows, const float* a, bool packed, const float* panel,
                std::int64_t columns, float* c) {
  const std::int64_t left = rows % kBlockRows, whole = rows - left;
  for (std::int64_t i = 0; i < whole; i += kBlockRows) {
    packed ? block<kBlockRows, n>(s, a + i * s.rows, kBlockRows, panel, columns, c + i * s.n)
           : block<kBlockRows, n>(s, a + i, s.m, panel, columns, c + i * s.n);
  }
  for (std::int64_t i = whole; i < rows; ++i) {
    packed ? block<1, n>(s, a + whole * s.rows + i - whole, left, panel, columns, c + i * s.n)
           : block<1, n>(s, a + i, s.m, panel, columns, c + i * s.n);
  }
}

// `count` columns of each of so many rows, one row after the other, zeros up to `width`.
void pack(std::int64_t rows, std::int64_t row, std::int64_t count, std::int64_t width, const float* from, float* to) {
  for (std::int64_t k = 0; k < rows; ++k, from += row, to += width) {
    std::copy_n(from, count, to);
    std::fill(to + count, to + width, 0.0f);
  }
}

// All of b in panels; b itself where it is one.
const float* pack_panels(const BatchSum& s, const Panels& panels, const float* b, float* to) {
  if (panels.count() == 1 && panels.width(0) == s.n) return b;
  parallel_for(s.rows, std::max<std::int64_t>(1, (1 << 14) / s.n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = 0; p < panels.count(); ++p) {
      const std::int64_t first = panels.first(p), width = panels.width(p);
      pack(end - begin, s.n, std::min(width, s.n - first), width, b + begin * s.n + first,
           to + first * s.rows + begin * width);
    }
  });
  return to;
}

}  // namespace

std::int64_t packed_columns(std::int64_t n) { return Panels(n).columns(); }

void sum_rows(const BatchSum& s, const float* a, const float* b, float* c, float* scratch) {
  const Panels panels(s.n);
  const float* const packed_b = pack_panels(s, panels, b, scratch);
  float* const packed_a = scratch + panels.columns() * s.rows;
  const bool far_apart = s.m > kFarApart;
  std::atomic<std::int64_t> threads{0};
  parallel_for((s.m + kBlockRows - 1) / kBlockRows, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    constexpr std::int64_t kRowsAtOnce = kPackedBlocks * kBlockRows;
    float* const mine = packed_a + (far_apart ? threads.fetch_add(1) * kRowsAtOnce * s.rows : 0);
    const std::int64_t end = std::min(s.m, last_block * kBlockRows);
    for (std::int64_t i = first_block * kBlockRows; i < end; i += kRowsAtOnce) {
      const std::int64_t rows = std::min(end - i, kRowsAtOnce);
      for (std::int64_t j = 0; far_apart && j < rows; j += kBlockRows) {
        const std::int64_t count = std::min(kBlockRows, rows - j);
        pack(s.rows, s.m, count, count, a + i + j, mine + j * s.rows);
      }
      for (std::int64_t p = 0; p < panels.count(); ++p) {
        const std::int64_t first = panels.first(p), columns = std::min(panels.width(p), s.n - first);
        const float *const from = far_apart ? mine : a + i, *const panel = packed_b + first * s.rows;
        float* const to = c + i * s.n + first;
        p < panels.wide ? panel_rows<kVectors>(s, rows, from, far_apart, panel, columns, to)
                        : panel_rows<1>(s, rows, from, far_apart, panel, columns, to);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(packed_columns);
HWY_EXPORT(sum_rows);

std::size_t batch_sum_scratch_bytes(const BatchSum& s, int threads) {
  const std::int64_t b = HWY_DYNAMIC_DISPATCH(packed_columns)(s.n);
  const std::int64_t a = s.m > kFarApart ? threads * kPackedBlocks * kBlockRows : 0;
  return static_cast<std::size_t>((a + b) * s.rows) * sizeof(float);
}

void batch_sum(const BatchSum& s, const float* a, const float* b, float* c, float* scratch) {
  HWY_DYNAMIC_DISPATCH(sum_rows)(s, a, b, c, scratch);
}

}  // namespace argosy
#endif
