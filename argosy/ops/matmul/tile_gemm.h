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

// Of the scratch memory, 64-byte aligned, for so many threads.
std::size_t tile_gemm_scratch_bytes(const TileGemm& g, int threads);
// False when c is not the product, for not all of it is finite. Infinities and NaNs have no parts, and sums of parts may
// leave float32's range where sums of numbers would not. The calling thread's team works. An element's bits depend
// on its row, its column and k alone. REQUIRES: has_float_tiles().
bool tile_gemm(const TileGemm& g, const float* a, const float* b, float* c, void* scratch);

}  // namespace argosy
