// A CPU's tiles of bfloat16 (Intel's AMX), and float32 numbers in them: products as exact as float32 arithmetic, and
// faster.
//
// A float32 is the sum of three bfloat16, eight of its 24 bits each: a = a1 + a2 + a3. Of the nine products of parts
// the six largest are added up in float32: a1b1, a1b2, a2b1, a2b2, a1b3 and a3b1. The others are together below
// 2^-24 |a b|, half of what rounding to float32 may take. A tile adds up 32 products before its sum is rounded into the
// long one, so that sums are rounded less often than one after the other. Held against double, products of 256 to 2048
// have 0.5 to 0.7 of the root mean square error of oneDNN's float32. The method: Henry, Tang and Heinecke, "Leveraging
// the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", arXiv 1904.06376; XLA computes
// float32 so on TPUs ("highest").
//
// Other than in float32 arithmetic, numbers below 2^-126 count as 0, and so do such parts of numbers below 2^-110.
// Infinities, NaNs, and numbers within a bfloat16's rounding of infinity have no parts.
#pragma once

#include <cstdint>

namespace argosy {

// Has this machine such tiles, and does its system let this process use them? Asked once. All below REQUIRES it.
bool has_float_tiles();

namespace float_tiles {

// A tile: 16 rows of 64 bytes. A panel: 32 rows of A, or columns of B, two tiles beside each other. A unit: 32 of a
// panel's numbers each, in three parts of two tiles, as rows of A lie, or as columns of B do.
inline constexpr std::int64_t kTile = 16, kLineBytes = 64, kTileBytes = kTile * kLineBytes;
inline constexpr std::int64_t kPanel = 2 * kTile, kDepth = 32, kParts = 3;
inline constexpr std::int64_t kPartBytes = 2 * kTileBytes, kUnitBytes = kParts * kPartBytes;
// Of a panel of A and one of B: four tiles of float32, two of the first 16 rows, two of the others.
inline constexpr std::int64_t kSumBytes = 4 * kTileBytes;
// Of these, the number in a row and a column.
constexpr std::int64_t sum_at(std::int64_t row, std::int64_t column) {
  return (row / kTile * 2 + column / kTile) * kTile * kTile + row % kTile * kTile + column % kTile;
}

constexpr std::int64_t panels(std::int64_t count) { return (count + kPanel - 1) / kPanel; }
constexpr std::int64_t units(std::int64_t depth) { return (depth + kDepth - 1) / kDepth; }

// The calling thread's tiles are ours while there is one.
class Use {
 public:
  Use();
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
};

// One operand of a product: a matrix of `count` rows or columns, of k numbers each. Number p of row or column i is
// at[i * stride + p]; with `across` it is at[p * stride + i].
struct Operand {
  const float* at;
  std::int64_t count, k, stride;
  bool across;
};

// 32 of the operand from `i` on, 32 numbers of each from p on, as a unit; what is beyond its ends is 0. The second
// tile's half is left alone where there are no more than 16.
void pack_rows(const Operand& o, std::int64_t i, std::int64_t p, char* unit);     // A's
void pack_columns(const Operand& o, std::int64_t i, std::int64_t p, char* unit);  // B's

// A row of A, 32 numbers, in each of some units, `unit_stride` bytes apart: of the first from x and y on, 16 each, of
// the others `stride` further each. `line`: where the row lies in the first unit.
void write_row(const float* x, const float* y, std::int64_t stride, std::int64_t units, char* line,
               std::int64_t unit_stride);

// sums (kSumBytes) = the product of so many units of A and of B, kUnitBytes apart each, or is added to. Of the sums,
// only tiles with some of `rows` and `columns` are looked at. All 64-byte aligned.
void multiply(const char* a, const char* b, std::int64_t units, bool add, std::int64_t rows, std::int64_t columns,
              char* sums);

// At most 32 rows of a matrix, `row` from one to the next.
struct Target {
  float* c;
  std::int64_t row, rows, columns;
};
// Sums of panels of B, kSumBytes each, become the target's numbers, or are added to them. Are they finite?
bool put(const char* sums, bool add, const Target& t);

}  // namespace float_tiles
}  // namespace argosy
