// Products of float32 matrices by a CPU's tiles of bfloat16 (float_tiles.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace argosy {

// c[m, n] = A · B with A = a[m, k] or, transposed, a[k, m] read the other way; B likewise. REQUIRES: every size > 0.
struct TileGemm {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
};

// The size of the scratch memory, in bytes, for this many threads. It must be 64-byte aligned.
std::size_t tile_gemm_scratch_bytes(const TileGemm& g, int threads);
// Computes c on the calling thread's team. Returns false where some result is not finite; c is then not the product.
// Infinities and NaNs cannot be split into parts, and sums of parts may overflow where sums of the numbers would not.
// An element's bits depend on its row of A, its column of B and k alone. REQUIRES: has_float_tiles().
bool tile_gemm(const TileGemm& g, const float* a, const float* b, float* c, void* scratch);

}  // namespace argosy
