// float32 products on a CPU's bfloat16 matrix tiles (Intel's AMX): as exact as float32 arithmetic, and faster.
//
// Each float32 is split into three bfloat16 parts that hold eight of its 24 bits each: a = a1 + a2 + a3. Of the nine
// products of parts, the six largest are added up in float32: a1b1, a1b2, a2b1, a2b2, a1b3 and a3b1. The other three
// are together below 2^-24 |a b|, half the spacing of float32 numbers there. A tile instruction adds up 32 products
// before it rounds, so a long sum is rounded less often than by a loop. Against double precision, products of size 256
// to 2048 have 0.5 to 0.7 times the root mean square error of oneDNN's float32. The method: Henry, Tang and Heinecke,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", arXiv 1904.06376. XLA
// computes float32 in this way on TPUs (precision "highest").
//
// Differences from float32 arithmetic:
// * Numbers below 2^-126 count as 0. So do the parts below 2^-126 of numbers below 2^-110.
// * Infinities, NaNs, and numbers that bfloat16 rounds to infinity cannot be split.
#pragma once

#include <cstdint>

namespace argosy {

// True if this machine has AMX tiles for bfloat16 and its operating system lets this process use them. Asked once.
// REQUIRED by everything below.
bool has_float_tiles();

namespace float_tiles {

// * A tile: 16 rows of 64 bytes.
// * A panel: 32 rows of A, or 32 columns of B: two tiles.
// * A unit: a block of a panel, kDepth = 32 elements along the summed axis. It is stored as three parts of two tiles
//   each, in the tile layout of A or of B.
inline constexpr std::int64_t kTile = 16, kLineBytes = 64, kTileBytes = kTile * kLineBytes;
inline constexpr std::int64_t kPanel = 2 * kTile, kDepth = 32, kParts = 3;
inline constexpr std::int64_t kPartBytes = 2 * kTileBytes, kUnitBytes = kParts * kPartBytes;
// The product of a panel of A and a panel of B: four tiles of float32, two for its first 16 rows, then two for the
// others.
inline constexpr std::int64_t kSumBytes = 4 * kTileBytes;
// The position, in elements, of a row and a column of such a product.
constexpr std::int64_t sum_at(std::int64_t row, std::int64_t column) {
  return (row / kTile * 2 + column / kTile) * kTile * kTile + row % kTile * kTile + column % kTile;
}

constexpr std::int64_t panels(std::int64_t count) { return (count + kPanel - 1) / kPanel; }
constexpr std::int64_t units(std::int64_t depth) { return (depth + kDepth - 1) / kDepth; }

// Configures the calling thread's tile registers, and releases them at the end of its scope.
class Use {
 public:
  Use();
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
};

// One operand of a product: the `count` rows of A or columns of B, of k elements each. Element p of row (or column) i
// is at[i * stride + p]; with `across` it is at[p * stride + i].
struct Operand {
  const float* at;
  std::int64_t count, k, stride;
  bool across;
};

// Packs a unit: 32 rows (columns) of the operand from `i` on, 32 elements of each from p on. Elements beyond the
// operand's ends are 0. The second tiles of the parts are not written where the operand has at most 16 rows (columns)
// from i on.
void pack_rows(const Operand& o, std::int64_t i, std::int64_t p, char* unit);     // of A
void pack_columns(const Operand& o, std::int64_t i, std::int64_t p, char* unit);  // of B

// Writes one row of A into each of `units` units, which are `unit_stride` bytes apart. `line`: the row's address in the
// first unit. Its 32 elements there are 16 at x and 16 at y; for each further unit, x and y advance by `stride`
// elements.
void write_row(const float* x, const float* y, std::int64_t stride, std::int64_t units, char* line,
               std::int64_t unit_stride);

// sums (kSumBytes) = the sum of the products of `units` units of A and of B, kUnitBytes apart; with `add` it is added
// to what is there. Only the tiles of `sums` that have some of the first `rows` rows and `columns` columns are used.
// All pointers are 64-byte aligned.
void multiply(const char* a, const char* b, std::int64_t units, bool add, std::int64_t rows, std::int64_t columns,
              char* sums);

// At most 32 rows of the result, `row` elements from one to the next.
struct Target {
  float* c;
  std::int64_t row, rows, columns;
};
// Stores the sums for a panel of A and successive panels of B, kSumBytes each, into the target; with `add` it adds
// them. Returns whether all results are finite.
bool put(const char* sums, bool add, const Target& t);

}  // namespace float_tiles
}  // namespace argosy
