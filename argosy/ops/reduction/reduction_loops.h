// The inner loops of reductions, vectorised for this CPU's best instruction set. Internal to argosy/ops.
//
// The order of additions depends on shapes alone, never on how many threads share the work: the same numbers give the
// same sum on one core and on eight.
#pragma once

#include "argosy/tensor/buffer.h"
#include "argosy/tensor/dtype.h"

namespace argosy::reduction {

// How two partial results are combined; kSumOfSquares squares each element first.
enum class Fold { kSum, kSumOfSquares, kProduct, kMaximum, kMinimum, kAnd, kOr };

struct Loops {
  // out[r] = the fold of row r of x[rows, n].
  void (*rows)(const void* x, std::int64_t rows, std::int64_t n, void* out) = nullptr;
  // out[c] = the fold of column c over `rows` rows that lie `stride` elements apart. REQUIRES: rows >= 1.
  void (*columns)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, void* out) = nullptr;
};

// The loops of a fold and a dtype: float32, float64, int32, int64; for kAnd and kOr bool. For other dtypes the
// functions are null.
Loops find_loops(Fold fold, DType dtype);

// The fold that combines partial results of `fold`.
constexpr Fold next(Fold fold) { return fold == Fold::kSumOfSquares ? Fold::kSum : fold; }

// out[a][b] = the fold of x[a][r][b] over r, with x[outer][count][inner], on the calling thread's team. x and out have
// `dtype`, which must have loops. The memory of partial results comes from `allocator`. REQUIRES: inner, outer,
// count >= 1.
Status fold_middle(Fold fold, DType dtype, const void* x, std::int64_t outer, std::int64_t count, std::int64_t inner,
                   void* out, Allocator& allocator);
// The peak of those partial results, in bytes, for elements of `element_bytes`.
std::uint64_t fold_middle_bytes(std::size_t element_bytes, std::int64_t outer, std::int64_t count, std::int64_t inner);

}  // namespace argosy::reduction
