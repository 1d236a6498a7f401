// Our own kernel for products of matrices, for every dtype and shape; used where no library takes the product. C[b] =
// A[b] B[b], where A or B may be transposed, then a bias and an activation. A block computes a tile of 32 x 32, each of
// its 16 x 16 threads four elements.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/ops/elementwise/gpu/functions_complex_cuda.h"

namespace argosy::cuda {

struct Product {
  i64 batches, m, n, k;
  i64 a_row, a_column, a_batch;  // distances in elements
  i64 b_row, b_column, b_batch;
  int activation;                // FusedOps::Activation
  f32 alpha;                     // LeakyRelu's
  int conjugate_a, conjugate_b;  // of complex numbers
};

template <typename T>
ARGOSY_DEVICE Compute<T> load(const T* from, i64 i, int) {
  return load(from, i);
}
template <typename A>
ARGOSY_DEVICE void add_product(A& sum, A a, A b) {
  sum += a * b;
}
template <typename C>
ARGOSY_DEVICE C load_complex(const C* from, i64 i, int conjugate) {
  return conjugate ? complex_fn::conjugate(from[i]) : from[i];
}
template <typename C>
ARGOSY_DEVICE void add_complex_product(C& sum, C a, C b) {
  sum = sum + complex_fn::plain_product(a, b);
}
ARGOSY_DEVICE c64 load(const c64* from, i64 i, int conjugate) { return load_complex(from, i, conjugate); }
ARGOSY_DEVICE c128 load(const c128* from, i64 i, int conjugate) { return load_complex(from, i, conjugate); }
ARGOSY_DEVICE void add_product(c64& sum, c64 a, c64 b) { add_complex_product(sum, a, b); }
ARGOSY_DEVICE void add_product(c128& sum, c128 a, c128 b) { add_complex_product(sum, a, b); }

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
ARGOSY_DEVICE c64 activated(c64 v, const Product&) { return v; }
ARGOSY_DEVICE c128 activated(c128 v, const Product&) { return v; }

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
        left[ak][ar] = r0 + ar < p.m && k0 + ak < p.k
                           ? load(from_a, (r0 + ar) * p.a_row + (k0 + ak) * p.a_column, p.conjugate_a)
                           : A{};
        const int bc = p.b_column == 1 ? e % kTile : e / kDepth, bk = p.b_column == 1 ? e / kTile : e % kDepth;
        right[bk][bc] = c0 + bc < p.n && k0 + bk < p.k
                            ? load(from_b, (k0 + bk) * p.b_row + (c0 + bc) * p.b_column, p.conjugate_b)
                            : A{};
      }
      __syncthreads();
      for (int k = 0; k < kDepth; ++k) {
        const A l0 = left[k][ty], l1 = left[k][ty + kSide], r0k = right[k][tx], r1k = right[k][tx + kSide];
        add_product(sums[0][0], l0, r0k);
        add_product(sums[0][1], l0, r1k);
        add_product(sums[1][0], l1, r0k);
        add_product(sums[1][1], l1, r1k);
      }
      __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const i64 row = r0 + ty + i * kSide, column = c0 + tx + j * kSide;
        if (row >= p.m || column >= p.n) continue;
        A v = sums[i][j];
        if (bias != nullptr) v = v + load(bias, column);
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
ARGOSY_GEMM(c64)
ARGOSY_GEMM(c128)

}  // namespace argosy::cuda
