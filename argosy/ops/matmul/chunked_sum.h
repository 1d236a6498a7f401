// A product that adds up over a batch: the gradient of a layer's weights. It has the same bits on any number of devices
// (argosy/ops/collective/reduction_chunks.h) and is vectorised with Highway for the machine it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace argosy {

// c[m, n] = aᵀ · b with a[rows, m] and b[rows, n]. Chunk i of the rows ends before ends[i]; the last end is `rows`.
// Each chunk is summed row after row, then the chunks' sums are added as a binary tree over their indices. With one
// chunk this is a plain product. REQUIRES: m, n, rows > 0; a power of two of chunks, at most kReductionChunks. As fast
// as any product up to some 500 rows: nothing is kept in a cache for more.
struct ChunkedSum {
  std::int64_t m = 0, n = 0, rows = 0;
  std::span<const std::int64_t> ends;
};

// Larger batches are not summed this way.
inline constexpr std::int64_t kMostSummed = 512;

// Of the scratch memory, 64-byte aligned, for so many threads.
std::size_t chunked_sum_scratch_bytes(const ChunkedSum& s, int threads);
// The calling thread's team works, all of it: worth it from some millions of flops on.
// The same bits for any size of it.
void chunked_sum(const ChunkedSum& s, const float* a, const float* b, float* c, float* scratch);

}  // namespace argosy
