// Products of matrices without a library: the last of the list, for every dtype and shape. C[b] = A[b] B[b], each
// perhaps transposed, then a bias and an activation. A block makes a tile of 32 x 32, each of its 16 x 16 threads four
// elements.
#include "argosy/device/cuda/kernel_source.h"

namespace argosy::cuda {

struct Product {
  i64 batches, m, n, k;
  i64 a_row, a_column, a_batch;  // distances in elements
  i64 b_row, b_column, b_batch;
  int activation;  // FusedOps::Activation
  f32 alpha;       // LeakyRelu's
};

template <typename A>
ARGOSY_DEVICE A activated(A v, const Product& p) {
  switch (p.activation) {
    case 1: return v < A(0) ? A(0) : v;
    case 2: return v < A(0) ? A(0) : v > A(6) ? A(6) : v;
    case 3: return v < A(0) ? ::expm1(v) : v;
    case 4: return v < A(0) ? v * static_cast<A>(p.alpha) : v;
    case 5: return A(1) / (A(1) + ::exp(-v));
    case 6: return ::tanh(v);
    default: return v;
  }
}
ARGOSY_DEVICE i64 activated(i64 v, const Product&) { return v; }

constexpr int kTile = 32, kDepth = 16, kSide = 16;

template <typename T>
ARGOSY_DEVICE void gemm(const Product& p, const T* a, const T* b, const T* bias, T* c) {
  using A = Compute<T>;
  ARGOSY_SHARED A left[kDepth][kTile + 1];
  ARGOSY_SHARED A right[kDepth][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y, me = ty * kSide + tx;
  const i64 across = (p.n + kTile - 1) / kTile, down = (p.m + kTile - 1) / kTile;
  for (i64 t = blockIdx.x; t < p.batches * across * down; t += gridDim.x) {
    const i64 batch = t / (across * down), r0 = t % (across * down) / across * kTile, c0 = t % across * kTile;
    const T* const from_a = a + batch * p.a_batch;
    const T* const from_b = b + batch * p.b_batch;
    A sums[2][2] = {};
    for (i64 k0 = 0; k0 < p.k; k0 += kDepth) {
      for (int e = me; e < kTile * kDepth; e += kSide * kSide) {
        const int ar = p.a_column == 1 ? e / kDepth : e % kTile, ak = p.a_column == 1 ? e % kDepth : e / kTile;
        left[ak][ar] =
            r0 + ar < p.m && k0 + ak < p.k ? load(from_a, (r0 + ar) * p.a_row + (k0 + ak) * p.a_column) : A(0);
        const int bc = p.b_column == 1 ? e % kTile : e / kDepth, bk = p.b_column == 1 ? e / kTile : e % kDepth;
        right[bk][bc] =
            c0 + bc < p.n && k0 + bk < p.k ? load(from_b, (k0 + bk) * p.b_row + (c0 + bc) * p.b_column) : A(0);
      }
      __syncthreads();
      for (int k = 0; k < kDepth; ++k) {
        const A l0 = left[k][ty], l1 = left[k][ty + kSide], r0k = right[k][tx], r1k = right[k][tx + kSide];
        sums[0][0] += l0 * r0k;
        sums[0][1] += l0 * r1k;
        sums[1][0] += l1 * r0k;
        sums[1][1] += l1 * r1k;
      }
      __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const i64 row = r0 + ty + i * kSide, column = c0 + tx + j * kSide;
        if (row >= p.m || column >= p.n) continue;
        A v = sums[i][j];
        if (bias != nullptr) v += load(bias, column);
        store(c, (batch * p.m + row) * p.n + column, activated(v, p));
      }
    }
  }
}

#define ARGOSY_GEMM(T) \
  ARGOSY_KERNEL(gemm_##T, Product p, const T* a, const T* b, const T* bias, T* c) { gemm(p, a, b, bias, c); }
ARGOSY_GEMM(f32)
ARGOSY_GEMM(f64)
ARGOSY_GEMM(f16)
ARGOSY_GEMM(bf16)
ARGOSY_GEMM(i64)

}  // namespace argosy::cuda
