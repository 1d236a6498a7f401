// Products of float32 matrices by a CPU's tiles of bfloat16 (Intel's AMX): as exact as float32 arithmetic, and faster.
//
// A float32 is the sum of three bfloat16, eight of its 24 bits each: a = a1 + a2 + a3. Of the nine products of parts
// the six largest are added up in float32, a1b1, a1b2, a2b1, a2b2, a1b3 and a3b1; those left out are together below
// 2^-24 |a b|, half of what rounding to float32 may take. A tile adds up 32 products before its sum is rounded into the
// long one, so that sums are rounded less often than one after the other. Held against double, products of 256 to 2048
// have 0.5 to 0.7 of the root mean square error of oneDNN's float32. The method: Henry, Tang and Heinecke, "Leveraging
// the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", arXiv 1904.06376; XLA computes
// float32 so on TPUs ("highest").
//
// What differs from float32 arithmetic: numbers below 2^-126 count as 0, and so do the parts of numbers below 2^-110
// that are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace argosy {

// Has this machine such tiles, and does its system let this process use them? Asked once.
bool has_float_tiles();

// c[m, n] = A · B with A = a[m, k] or, transposed, a[k, m] read the other way; B likewise. REQUIRES: every size > 0.
struct TileGemm {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
};

// Of the scratch memory, 64-byte aligned, for so many threads.
std::size_t tile_gemm_scratch_bytes(const TileGemm& g, int threads);
// False when c is not the product, for not all of it is finite: infinities and what is not a number have no parts, and
// sums of parts may leave float32's range another way than their numbers would. The calling thread's team works; an
// element's bits depend on its row, its column and k alone. REQUIRES: has_float_tiles().
bool tile_gemm(const TileGemm& g, const float* a, const float* b, float* c, void* scratch);

}  // namespace argosy
