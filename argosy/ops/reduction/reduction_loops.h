// The inner loops of reductions, for the best instruction set of this processor. Private to this folder and its like.
//
// The order of additions depends on shapes alone, never on how many threads share the work: the same numbers give the
// same sum on one core and on eight.
#pragma once

#include "argosy/tensor/buffer.h"
#include "argosy/tensor/dtype.h"

namespace argosy::reduction {

// What two partial results are joined by, and what an element is before.
enum class Fold { kSum, kSumOfSquares, kProduct, kMaximum, kMinimum, kAnd, kOr };

struct Loops {
  // out[r] = the fold of row r, n neighbouring elements; rows follow each other.
  void (*rows)(const void* x, std::int64_t rows, std::int64_t n, void* out) = nullptr;
  // out[c] = the fold of column c over `rows` rows that lie `stride` elements apart. REQUIRES: rows >= 1.
  void (*columns)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* out) = nullptr;
};

// float32, float64, int32, int64, and bool for the last two folds; without functions for the rest.
Loops find_loops(Fold fold, DType dtype);

// How a fold goes on once its elements are partial results.
constexpr Fold next(Fold fold) { return fold == Fold::kSumOfSquares ? Fold::kSum : fold; }

// out[a][b] = the fold of x[a][r][b] over r, on this thread's cores. x and out are of `dtype`, which must have loops.
// Partial results come from `allocator`. REQUIRES: inner, outer, count >= 1.
Status fold_middle(Fold fold, DType dtype, const void* x, std::int64_t outer, std::int64_t count, std::int64_t inner,
                   void* out, Allocator& allocator);
// The most bytes of them at once, from an input of elements of so many bytes.
std::uint64_t fold_middle_bytes(std::size_t element_bytes, std::int64_t outer, std::int64_t count, std::int64_t inner);

}  // namespace argosy::reduction
