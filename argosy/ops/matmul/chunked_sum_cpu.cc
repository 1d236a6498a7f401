#include "argosy/ops/matmul/chunked_sum.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/ops/matmul/chunked_sum_cpu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/matmul/load_first-inl.h"

#ifndef ARGOSY_OPS_MATMUL_CHUNKED_SUM_ONCE
#define ARGOSY_OPS_MATMUL_CHUNKED_SUM_ONCE
namespace argosy {

constexpr std::int64_t kBlockRows = 6;  // of the result, in registers
// Columns whose rows lie further apart are copied together first, for the cache has few places for far neighbours.
constexpr std::int64_t kFarApart = 256;
constexpr std::int64_t kPackedBlocks = 8;  // at once, by one thread: read for all panels
constexpr int kMostLevels = 3;             // log2(kReductionChunks)

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

// Columns of b: in panels of kVectors, packed or not, then vector by vector, where they lie.
struct Panels {
  explicit Panels(const ChunkedSum& s) : width(kVectors * lanes()), count(s.n / width), packed(s.n > kFarApart) {}
  std::int64_t columns() const { return count * width; }
  std::int64_t width, count;
  bool packed;
};

// Sums of chunks that wait for their neighbours, by the level of the tree.
struct Waiting {
  alignas(64) float sums[kMostLevels][kBlockRows * kVectors * HWY_MAX_BYTES / sizeof(float)];
};

// b, one row after the other; of the last vector only so many lanes.
template <bool masked>
struct Lines {
  const float* at;
  std::int64_t row, last;
  HWY_INLINE Vector load(int v) const {
    const Floats d;
    if constexpr (masked) return load_first(d, at, static_cast<std::size_t>(last));
    return hn::LoadU(d, at + v * lanes());
  }
};

// kRows x n vectors of c.
template <int kRows, int n, bool masked>
HWY_INLINE void sum_parts(std::span<const std::int64_t> ends, const float* HWY_RESTRICT a, std::int64_t a_row,
                          Lines<masked> b, Waiting& waiting, Vector (&sums)[kRows][n]) {
  const Floats d;
  const std::int64_t step = lanes();
  std::int64_t k = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    for (auto& row : sums) {
      for (auto& v : row) v = hn::Zero(d);
    }
    for (; k < ends[part]; ++k, a += a_row, b.at += b.row) {
      Vector line[n];
      for (int v = 0; v < n; ++v) line[v] = b.load(v);
      for (int r = 0; r < kRows; ++r) {
        const Vector x = hn::Set(d, a[r]);
        for (int v = 0; v < n; ++v) sums[r][v] = hn::MulAdd(x, line[v], sums[r][v]);
      }
    }
    // Like a binary counter: what waits at a level is the sum of as many chunks, those before.
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

template <int kRows, int n, bool masked>
void block(const ChunkedSum& s, const float* a, std::int64_t a_row, const Lines<masked>& b, float* c) {
  const Floats d;
  const std::int64_t step = lanes();
  Waiting waiting;
  Vector sums[kRows][n];
  sum_parts<kRows, n, masked>(s.ends, a, a_row, b, waiting, sums);
  for (int r = 0; r < kRows; ++r) {
    if constexpr (masked) {
      hn::BlendedStore(sums[r][0], hn::FirstN(d, static_cast<std::size_t>(b.last)), d, c + r * s.n);
    } else {
      for (int v = 0; v < n; ++v) hn::StoreU(sums[r][v], d, c + r * s.n + v * step);
    }
  }
}

// Columns of a: in the matrix, or packed in blocks of [row of the batch][kBlockRows], the last one with as many columns
// as there are left.
struct Columns {
  const float* at;
  bool packed;
};

// n vectors of `rows` rows of c.
template <int n, bool masked>
void columns_of(const ChunkedSum& s, std::int64_t rows, const Columns& a, const Lines<masked>& b, float* c) {
  const std::int64_t whole = rows / kBlockRows * kBlockRows, left = rows - whole;
  for (std::int64_t i = 0; i < whole; i += kBlockRows) {
    a.packed ? block<kBlockRows, n>(s, a.at + i * s.rows, kBlockRows, b, c + i * s.n)
             : block<kBlockRows, n>(s, a.at + i, s.m, b, c + i * s.n);
  }
  const float* const rest = a.packed ? a.at + whole * s.rows : a.at + whole;
  const std::int64_t row = a.packed ? left : s.m;
  std::int64_t i = 0;
  for (; i + 2 <= left; i += 2) block<2, n>(s, rest + i, row, b, c + (whole + i) * s.n);
  if (i < left) block<1, n>(s, rest + i, row, b, c + (whole + i) * s.n);
}

// `count` columns of each of so many rows, one row after the other. Blocks are copied without a call for each row.
void pack(std::int64_t rows, std::int64_t row, std::int64_t count, const float* from, float* to) {
  if (count == kBlockRows) {
    for (std::int64_t k = 0; k < rows; ++k, from += row, to += kBlockRows) {
      std::memcpy(to, from, kBlockRows * sizeof(float));
    }
    return;
  }
  for (std::int64_t k = 0; k < rows; ++k, from += row, to += count) std::copy_n(from, count, to);
}

// The panels of b, one after the other.
void pack_panels(const ChunkedSum& s, const Panels& panels, const float* b, float* to) {
  parallel_for(s.rows, std::max<std::int64_t>(1, (1 << 14) / s.n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = 0; p < panels.count; ++p) {
      const std::int64_t first = p * panels.width;
      pack(end - begin, s.n, panels.width, b + begin * s.n + first, to + first * s.rows + begin * panels.width);
    }
  });
}

}  // namespace

std::int64_t packed_columns(const ChunkedSum& s) { return Panels(s).packed ? Panels(s).columns() : 0; }

void sum_rows(const ChunkedSum& s, const float* a, const float* b, float* c, float* scratch) {
  const Panels panels(s);
  if (panels.packed) pack_panels(s, panels, b, scratch);
  float* const packed_a = scratch + packed_columns(s) * s.rows;
  const bool far_apart = s.m > kFarApart;
  std::atomic<std::int64_t> threads{0};
  parallel_for_whole((s.m + kBlockRows - 1) / kBlockRows, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    constexpr std::int64_t kRowsAtOnce = kPackedBlocks * kBlockRows;
    float* const mine = packed_a + (far_apart ? threads.fetch_add(1) * kRowsAtOnce * s.rows : 0);
    const std::int64_t end = std::min(s.m, last_block * kBlockRows);
    for (std::int64_t i = first_block * kBlockRows; i < end; i += kRowsAtOnce) {
      check_interrupted();
      const std::int64_t rows = std::min(end - i, kRowsAtOnce);
      for (std::int64_t j = 0; far_apart && j < rows; j += kBlockRows) {
        pack(s.rows, s.m, std::min(kBlockRows, rows - j), a + i + j, mine + j * s.rows);
      }
      const Columns from{far_apart ? mine : a + i, far_apart};
      float* const to = c + i * s.n;
      for (std::int64_t p = 0; p < panels.count; ++p) {
        const std::int64_t first = p * panels.width;
        const Lines<false> lines =
            panels.packed ? Lines<false>{scratch + first * s.rows, panels.width, 0} : Lines<false>{b + first, s.n, 0};
        columns_of<kVectors>(s, rows, from, lines, to + first);
      }
      std::int64_t j = panels.columns();
      for (; j + lanes() <= s.n; j += lanes()) columns_of<1>(s, rows, from, Lines<false>{b + j, s.n, 0}, to + j);
      if (j < s.n) columns_of<1>(s, rows, from, Lines<true>{b + j, s.n, s.n - j}, to + j);
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

std::size_t chunked_sum_scratch_bytes(const ChunkedSum& s, int threads) {
  const std::int64_t b = HWY_DYNAMIC_DISPATCH(packed_columns)(s);
  const std::int64_t a = s.m > kFarApart ? threads * kPackedBlocks * kBlockRows : 0;
  return static_cast<std::size_t>((a + b) * s.rows) * sizeof(float);
}

void chunked_sum(const ChunkedSum& s, const float* a, const float* b, float* c, float* scratch) {
  HWY_DYNAMIC_DISPATCH(sum_rows)(s, a, b, c, scratch);
}

}  // namespace argosy
#endif
