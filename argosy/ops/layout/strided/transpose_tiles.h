// Transposes a matrix of small elements tile by tile, so that reads and writes use whole cache lines. Private to this
// folder's copy loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace argosy {

inline constexpr std::int64_t kTransposeTile = 32;

#if defined(__SSE2__)
// Transposes 4 x 4 elements of four bytes in registers.
inline void transpose_4x4(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride) {
  using V = std::uint32_t __attribute__((vector_size(16)));
  V r[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&r[i], from + i * from_stride, 16);
  const V a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  const V b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const V c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const V d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &r[i], 16);
}
#endif

template <int kBytes>
void transpose_tile(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t columns,
                    std::int64_t rows) {
  std::int64_t c = 0;
#if defined(__SSE2__)
  if constexpr (kBytes == 4) {
    const std::int64_t whole_rows = rows & ~std::int64_t{3};
    for (; c + 4 <= columns; c += 4) {
      for (std::int64_t r = 0; r < whole_rows; r += 4) {
        transpose_4x4(to + c * to_stride + r * 4, to_stride, from + r * from_stride + c * 4, from_stride);
      }
      for (std::int64_t k = c; k < c + 4; ++k) {
        for (std::int64_t r = whole_rows; r < rows; ++r) {
          std::memcpy(to + k * to_stride + r * 4, from + r * from_stride + k * 4, 4);
        }
      }
    }
  }
#endif
  for (; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(to + c * to_stride + r * kBytes, from + r * from_stride + c * kBytes, kBytes);
    }
  }
}

// to[c][r] = from[r][c]. Both are contiguous along their second index; strides of the first are in bytes.
template <int kBytes>
void transpose(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t columns,
               std::int64_t rows) {
  for (std::int64_t c = 0; c < columns; c += kTransposeTile) {
    for (std::int64_t r = 0; r < rows; r += kTransposeTile) {
      transpose_tile<kBytes>(to + c * to_stride + r * kBytes, to_stride, from + r * from_stride + c * kBytes,
                             from_stride, std::min(kTransposeTile, columns - c), std::min(kTransposeTile, rows - r));
    }
  }
}

}  // namespace argosy
