#include "argosy/ops/matmul/float_tiles.h"

#if defined(__x86_64__) && defined(__linux__)

#include <hwy/base.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "argosy/ops/onednn/onednn.h"

#if HWY_COMPILER_GCC && !HWY_COMPILER_CLANG
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in its own intrinsics: what they leave undefined
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")

namespace argosy {
namespace float_tiles {

namespace {

struct alignas(64) Config {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Config kConfig;

// ------------------------------------------------------------------------------------------------------------ packing

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

void write_rows(const float* x, const float* y, std::int64_t stride, std::int64_t units, char* line,
                std::int64_t unit_stride) {
  for (; units > 0; --units, x += stride, y += stride, line += unit_stride) {
    __m512 first = _mm512_loadu_ps(x), second = _mm512_loadu_ps(y);
    for (std::int64_t part = 0; part < kParts; ++part) {
      _mm512_store_si512(line + part * kPartBytes, take_part(first, second));
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- products

// c's tiles: 0 and 1 beside each other, 2 and 3 below; A's: 4 and 5; B's: 6 and 7.
template <bool below, bool beside>
HWY_INLINE void multiply_parts() {
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
    multiply_parts<below, beside>();
    load_b<beside>(b, 1);
    multiply_parts<below, beside>();
    load_a<below>(a, 1);
    multiply_parts<below, beside>();
    load_b<beside>(b, 0);
    multiply_parts<below, beside>();
    load_a<below>(a, 2);
    multiply_parts<below, beside>();
    load_a<below>(a, 0);
    load_b<beside>(b, 2);
    multiply_parts<below, beside>();
  }
  _tile_stored(0, sums, 64);
  if constexpr (beside) _tile_stored(1, sums + kTileBytes, 64);
  if constexpr (below) _tile_stored(2, sums + 2 * kTileBytes, 64);
  if constexpr (below && beside) _tile_stored(3, sums + 3 * kTileBytes, 64);
}

bool put_sums(const char* sums, bool add, const Target& t) {
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

void load_config() { _tile_loadconfig(&kConfig); }
void release() { _tile_release(); }

}  // namespace
}  // namespace float_tiles
}  // namespace argosy

HWY_POP_ATTRIBUTES
#if HWY_COMPILER_GCC && !HWY_COMPILER_CLANG
#pragma GCC diagnostic pop
#endif

// What the header declares, for any CPU: only what it calls is made for these tiles.
namespace argosy {
namespace float_tiles {

Use::Use() { load_config(); }
Use::~Use() { release(); }

void pack_rows(const Operand& o, std::int64_t i, std::int64_t p, char* unit) {
  pack_tile<false>(o, i, p, unit);
  if (i + kTile < o.count) pack_tile<false>(o, i + kTile, p, unit + kTileBytes);
}

void pack_columns(const Operand& o, std::int64_t i, std::int64_t p, char* unit) {
  pack_tile<true>(o, i, p, unit);
  if (i + kTile < o.count) pack_tile<true>(o, i + kTile, p, unit + kTileBytes);
}

void write_row(const float* x, const float* y, std::int64_t stride, std::int64_t units, char* line,
               std::int64_t unit_stride) {
  write_rows(x, y, stride, units, line, unit_stride);
}

void multiply(const char* a, const char* b, std::int64_t units, bool add, std::int64_t rows, std::int64_t columns,
              char* sums) {
  if (rows > kTile) {
    return columns > kTile ? product<true, true>(a, b, units, add, sums) : product<true, false>(a, b, units, add, sums);
  }
  return columns > kTile ? product<false, true>(a, b, units, add, sums) : product<false, false>(a, b, units, add, sums);
}

bool put(const char* sums, bool add, const Target& t) { return put_sums(sums, add, t); }

}  // namespace float_tiles

bool has_float_tiles() {
  static const bool has = [] {
    constexpr long kAskFor = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
    return onednn::has_tiles(DType::kBfloat16) && ::syscall(SYS_arch_prctl, kAskFor, kTileData) == 0;
  }();
  return has;
}

}  // namespace argosy

#else

namespace argosy {

bool has_float_tiles() { return false; }

namespace float_tiles {
Use::Use() = default;
Use::~Use() = default;
void pack_rows(const Operand&, std::int64_t, std::int64_t, char*) {}
void pack_columns(const Operand&, std::int64_t, std::int64_t, char*) {}
void write_row(const float*, const float*, std::int64_t, std::int64_t, char*, std::int64_t) {}
void multiply(const char*, const char*, std::int64_t, bool, std::int64_t, std::int64_t, char*) {}
bool put(const char*, bool, const Target&) { return false; }
}  // namespace float_tiles
}  // namespace argosy

#endif
