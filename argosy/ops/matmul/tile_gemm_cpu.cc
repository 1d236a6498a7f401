#include "argosy/ops/matmul/tile_gemm.h"

#if defined(__x86_64__) && defined(__linux__)

#include <hwy/base.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "argosy/base/parallel.h"
#include "argosy/ops/onednn/onednn.h"

#if HWY_COMPILER_GCC && !HWY_COMPILER_CLANG
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in its own intrinsics: what they leave undefined
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")

namespace argosy {

namespace {

// A tile: 16 rows of 64 bytes. A panel: 32 rows of A, or columns of B, two tiles side by side. A unit: 32 of a panel's
// numbers each, in three parts of two tiles.
constexpr std::int64_t kTile = 16, kTileBytes = 1024, kPanel = 2 * kTile, kDepth = 32, kParts = 3;
constexpr std::int64_t kPartBytes = 2 * kTileBytes, kUnitBytes = kParts * kPartBytes;
// Units that are added up within registers: those of a panel of A, and of one of B, stay in a core's first cache.
constexpr std::int64_t kSumUnits = 4;
// Units of a panel, and panels of B, that a thread packs at once: they stay in its second cache, for all panels of A.
constexpr std::int64_t kPackedUnits = 3 * kSumUnits, kPackedPanels = 18;

std::int64_t panels(std::int64_t count) { return (count + kPanel - 1) / kPanel; }
std::int64_t units(std::int64_t k) { return (k + kDepth - 1) / kDepth; }
// Of a panel, at once.
std::int64_t packed_units(std::int64_t k) {
  return std::min(kPackedUnits, (units(k) + kSumUnits - 1) / kSumUnits * kSumUnits);
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kConfig;

// ------------------------------------------------------------------------------------------------------------ packing

// One operand, a matrix of `count` rows or columns by k numbers to be multiplied: number p of i at
// at[i * stride + p], or where they lie across at[p * stride + i].
struct Operand {
  const float* at;
  std::int64_t count, k, stride;
  bool across;
};

__mmask16 first(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// 32 numbers become 32 of bfloat16, in order: x's, then y's; what they lack of their values is left in x and y.
HWY_INLINE __m512i take_part(__m512& x, __m512& y) {
  const auto part = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y, x));
  const __m512i of_x = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(part));
  const __m512i of_y = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(part, 1));
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(of_x, 16)));
  y = _mm512_sub_ps(y, _mm512_castsi512_ps(_mm512_slli_epi32(of_y, 16)));
  return part;
}
// The same in pairs: x's first, y's first, x's second …
HWY_INLINE __m512i take_pairs(__m512& x, __m512& y) {
  const __m512i in_turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i pairs = _mm512_permutexvar_epi16(in_turn, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y, x)));
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)));
  y = _mm512_sub_ps(y, _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-0x10000))));
  return pairs;
}

HWY_INLINE void transpose(__m512 (&v)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const __m512d x = _mm512_castps_pd(t[i + j]), y = _mm512_castps_pd(t[i + j + 2]);
      v[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
      v[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
    }
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    v[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
  }
}

// 16 of the operand from `i` on, 32 numbers of each from p on, as one tile a part, kPartBytes apart: A's tiles have a
// row for each row of A, B's a row for each two numbers of all columns.
template <bool pairs>
void pack_tile(const Operand& o, std::int64_t i, std::int64_t p, char* to) {
  __m512 v[2][16];
  for (std::int64_t half = 0; half < 2; ++half) {
    const std::int64_t depth = p + half * kTile, row = o.across ? depth : i, column = o.across ? i : depth;
    const std::int64_t rows = (o.across ? o.k : o.count) - row;
    const __mmask16 columns = first((o.across ? o.count : o.k) - column);
    const float* at = o.at + row * o.stride + column;
    for (std::int64_t r = 0; r < 16; ++r, at += o.stride) {
      v[half][r] = r < rows ? _mm512_maskz_loadu_ps(columns, at) : _mm512_setzero_ps();
    }
  }
  if (o.across != pairs) {
    transpose(v[0]);
    transpose(v[1]);
  }
  for (std::int64_t r = 0; r < 16; ++r, to += 64) {
    __m512 x = pairs ? v[r / 8][2 * r % 16] : v[0][r], y = pairs ? v[r / 8][2 * r % 16 + 1] : v[1][r];
    for (std::int64_t part = 0; part < kParts; ++part) {
      _mm512_store_si512(to + part * kPartBytes, pairs ? take_pairs(x, y) : take_part(x, y));
    }
  }
}

// An operand's units, those together that are read one after the other: kSumUnits of the first panel, as many of the
// next, …, then the next ones of the first.
struct Packed {
  char* at;
  std::int64_t panels;
  char* units(std::int64_t panel, std::int64_t first) const {
    return at + (first * panels + panel * kSumUnits) * kUnitBytes;
  }
};

// So many panels' units [begin, end), the first being packed's panel 0, in the order in which their numbers lie.
template <bool pairs>
void pack(const Operand& o, std::int64_t panel, std::int64_t begin, std::int64_t end, const Packed& packed) {
  const auto unit = [&](std::int64_t y, std::int64_t u) {
    char* const to = packed.units(y, (u - begin) / kSumUnits * kSumUnits) + (u - begin) % kSumUnits * kUnitBytes;
    const std::int64_t i = (panel + y) * kPanel;
    pack_tile<pairs>(o, i, u * kDepth, to);
    if (i + kTile < o.count) pack_tile<pairs>(o, i + kTile, u * kDepth, to + kTileBytes);
  };
  if (o.across) {
    for (std::int64_t u = begin; u < end; ++u) {
      for (std::int64_t y = 0; y < packed.panels; ++y) unit(y, u);
    }
  } else {
    for (std::int64_t y = 0; y < packed.panels; ++y) {
      for (std::int64_t u = begin; u < end; ++u) unit(y, u);
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- products

// c's tiles: 0 and 1 beside each other, 2 and 3 below; A's: 4 and 5; B's: 6 and 7.
template <bool below, bool beside>
HWY_INLINE void multiply() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (below) _tile_dpbf16ps(2, 5, 6);
  if constexpr (beside) _tile_dpbf16ps(1, 4, 7);
  if constexpr (below && beside) _tile_dpbf16ps(3, 5, 7);
}
template <bool below>
HWY_INLINE void load_a(const char* unit, std::int64_t part) {
  _tile_loadd(4, unit + part * kPartBytes, 64);
  if constexpr (below) _tile_loadd(5, unit + part * kPartBytes + kTileBytes, 64);
}
template <bool beside>
HWY_INLINE void load_b(const char* unit, std::int64_t part) {
  _tile_loadd(6, unit + part * kPartBytes, 64);
  if constexpr (beside) _tile_loadd(7, unit + part * kPartBytes + kTileBytes, 64);
}

constexpr std::int64_t kSumBytes = 4 * kTileBytes;  // of a panel of A and one of B

// Adds up so many units: four tiles of sums, one after the other, or those of them that count.
template <bool below, bool beside>
void product(const char* a, const char* b, std::int64_t count, bool add, char* sums) {
  if (add) {
    _tile_loadd(0, sums, 64);
    if constexpr (beside) _tile_loadd(1, sums + kTileBytes, 64);
    if constexpr (below) _tile_loadd(2, sums + 2 * kTileBytes, 64);
    if constexpr (below && beside) _tile_loadd(3, sums + 3 * kTileBytes, 64);
  } else {
    _tile_zero(0);
    if constexpr (beside) _tile_zero(1);
    if constexpr (below) _tile_zero(2);
    if constexpr (below && beside) _tile_zero(3);
  }
  // Parts in an order that needs few loads; and each number's from the largest on, so that 1 x is x.
  for (; count > 0; --count, a += kUnitBytes, b += kUnitBytes) {
    load_a<below>(a, 0);
    load_b<beside>(b, 0);
    multiply<below, beside>();
    load_b<beside>(b, 1);
    multiply<below, beside>();
    load_a<below>(a, 1);
    multiply<below, beside>();
    load_b<beside>(b, 0);
    multiply<below, beside>();
    load_a<below>(a, 2);
    multiply<below, beside>();
    load_a<below>(a, 0);
    load_b<beside>(b, 2);
    multiply<below, beside>();
  }
  _tile_stored(0, sums, 64);
  if constexpr (beside) _tile_stored(1, sums + kTileBytes, 64);
  if constexpr (below) _tile_stored(2, sums + 2 * kTileBytes, 64);
  if constexpr (below && beside) _tile_stored(3, sums + 3 * kTileBytes, 64);
}

using Product = void (*)(const char* a, const char* b, std::int64_t count, bool add, char* sums);
Product product_of(std::int64_t rows, std::int64_t columns) {
  if (rows > kTile) return columns > kTile ? product<true, true> : product<true, false>;
  return columns > kTile ? product<false, true> : product<false, false>;
}

// At most 32 rows of c.
struct Target {
  float* c;
  std::int64_t row, rows, columns;  // from one row to the next; how many there are
};

// Adds panels' sums to c, or makes them c. Are they finite?
bool put(const char* sums, bool add, const Target& t) {
  const __m512i infinity = _mm512_set1_epi32(0x7f800000);
  __mmask16 beyond = 0;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    float* to = t.c + r * t.row;
    const char* from = sums + r / kTile * 2 * kTileBytes + r % kTile * 64;
    for (std::int64_t column = 0; column < t.columns; column += kTile, to += kTile) {
      const __mmask16 mask = first(t.columns - column);
      __m512 x = _mm512_load_ps(from + column / kPanel * kSumBytes + column % kPanel / kTile * kTileBytes);
      if (add) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, to));
      beyond |= _mm512_mask_cmpeq_epi32_mask(mask, _mm512_and_si512(_mm512_castps_si512(x), infinity), infinity);
      _mm512_mask_storeu_ps(to, mask, x);
    }
  }
  return beyond == 0;
}

// c cut into a region for each thread, in panels, as square as can be: a thread packs what its region needs.
struct Regions {
  Regions(std::int64_t panels_down, std::int64_t panels_across, int threads)
      : down(panels_down), across(panels_across), rows(down), columns(across) {
    for (std::int64_t in_row = 1; in_row <= threads; ++in_row) {
      const std::int64_t width = (across + in_row - 1) / in_row, in_column = threads / in_row;
      const std::int64_t height = (down + in_column - 1) / in_column;
      if (in_row == 1 || work(height, width) < work(rows, columns)) rows = height, columns = width;
    }
  }
  std::int64_t in_row() const { return (across + columns - 1) / columns; }
  std::int64_t count() const { return in_row() * ((down + rows - 1) / rows); }
  std::int64_t down, across, rows, columns;

 private:
  // Of a thread: products, and what it packs, a panel's weighing as much as some products.
  static std::int64_t work(std::int64_t height, std::int64_t width) { return height * width + 3 * (height + width); }
};

std::size_t thread_bytes(const TileGemm& g) {
  const std::int64_t across = std::min(kPackedPanels, panels(g.n));
  return static_cast<std::size_t>((1 + across) * packed_units(g.k) * kUnitBytes + across * kSumBytes);
}

// Region `index` of c. Is all of it finite?
bool multiply_region(const Operand& left, const Operand& right, const Regions& regions, std::int64_t index, float* c,
                     char* scratch) {
  _tile_loadconfig(&kConfig);
  const std::int64_t top = index / regions.in_row() * regions.rows, side = index % regions.in_row() * regions.columns;
  const std::int64_t bottom = std::min(regions.down, top + regions.rows), row = right.count;
  const std::int64_t end = std::min(regions.across, side + regions.columns), depth = units(left.k);
  bool finite = true;
  for (std::int64_t j = side; j < end; j += kPackedPanels) {
    const Packed a{scratch, 1}, b{a.units(0, packed_units(left.k)), std::min(kPackedPanels, end - j)};
    char* const sums = b.units(0, packed_units(left.k));
    for (std::int64_t start = 0; start < depth; start += kPackedUnits) {
      const std::int64_t stop = std::min(depth, start + kPackedUnits);
      pack<true>(right, j, start, stop, b);
      for (std::int64_t x = top; x < bottom; ++x) {
        pack<false>(left, x, start, stop, a);
        const Target t{c + x * kPanel * row + j * kPanel, row, std::min(kPanel, left.count - x * kPanel),
                       std::min(b.panels * kPanel, right.count - j * kPanel)};
        for (std::int64_t u = start; u < stop; u += kSumUnits) {
          for (std::int64_t y = 0; y < b.panels; ++y) {
            product_of(t.rows, t.columns - y * kPanel)(a.units(0, u - start), b.units(y, u - start),
                                                       std::min(kSumUnits, stop - u), u > start, sums + y * kSumBytes);
          }
        }
        finite &= put(sums, start > 0, t);
      }
    }
  }
  _tile_release();
  return finite;
}

}  // namespace

bool has_float_tiles() {
  static const bool has = [] {
    constexpr long kAskFor = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
    return onednn::has_tiles(DType::kBfloat16) && ::syscall(SYS_arch_prctl, kAskFor, kTileData) == 0;
  }();
  return has;
}

std::size_t tile_gemm_scratch_bytes(const TileGemm& g, int threads) {
  return static_cast<std::size_t>(threads) * thread_bytes(g);
}

bool tile_gemm(const TileGemm& g, const float* a, const float* b, float* c, void* scratch) {
  const Operand left{a, g.m, g.k, g.transpose_a ? g.m : g.k, g.transpose_a};
  const Operand right{b, g.n, g.k, g.transpose_b ? g.k : g.n, !g.transpose_b};
  const Regions regions(panels(g.m), panels(g.n), thread_budget());
  std::atomic<bool> finite{true};
  parallel_for(regions.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      char* const mine = static_cast<char*>(scratch) + static_cast<std::size_t>(r) * thread_bytes(g);
      if (!multiply_region(left, right, regions, r, c, mine)) finite = false;
    }
  });
  return finite;
}

}  // namespace argosy

HWY_POP_ATTRIBUTES
#if HWY_COMPILER_GCC && !HWY_COMPILER_CLANG
#pragma GCC diagnostic pop
#endif

#else

namespace argosy {

bool has_float_tiles() { return false; }
std::size_t tile_gemm_scratch_bytes(const TileGemm&, int) { return 0; }
bool tile_gemm(const TileGemm&, const float*, const float*, float*, void*) { return false; }

}  // namespace argosy

#endif
