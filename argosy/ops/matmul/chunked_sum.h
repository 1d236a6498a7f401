// A product of matrices that sums over the examples of a batch: the gradient of a layer's weights. It has the same bits
// on any number of devices (argosy/ops/collective/reduction_chunks.h), and is vectorised with Highway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace argosy {

// c[m, n] = aᵀ · b with a[rows, m] and b[rows, n]. Chunk i of the rows ends before ends[i]; the last end is `rows`.
// Each chunk is summed row after row, then the chunks' sums are added as a binary tree over their indices. With one
// chunk this is a plain product. It does not block for caches, so it is as fast as other products only up to about 500
// rows. REQUIRES: m, n, rows > 0; the number of chunks is a power of two, at most kReductionChunks.
struct ChunkedSum {
  std::int64_t m = 0, n = 0, rows = 0;
  std::span<const std::int64_t> ends;
};

// The most examples of a global batch for which gemm() uses chunked_sum().
inline constexpr std::int64_t kMostSummed = 512;

// The size of the scratch memory, in bytes, for this many threads. It must be 64-byte aligned.
std::size_t chunked_sum_scratch_bytes(const ChunkedSum& s, int threads);
// Computes c on all threads of the calling thread's team, which pays from some millions of flops on. The bits do not
// depend on the size of the team.
void chunked_sum(const ChunkedSum& s, const float* a, const float* b, float* c, float* scratch);

}  // namespace argosy
