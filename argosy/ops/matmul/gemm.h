// One product of two row-major matrices in host memory, by whichever way is fastest for its shape. Kernels of MatMul,
// BatchMatMul and small convolutions call it.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/ops/onednn/program_cache.h"

namespace argosy {

// c[m, n] = A · B with A = a[m, k] or, transposed, a[k, m] read the other way; B likewise.
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  // Set where the m rows, or the k summed elements, are examples of a batch. The bits of float32 results then do not
  // depend on how many of the examples this device has. Exception: sums with transpose_b and without transpose_a.
  ReductionChunks batch = {};
  std::int64_t per_example = 1;  // rows that one example has
  // The number of rows of the global product, where the m rows are a part of it: a device's shard, a block. Choices
  // that depend on the number of rows, and affect the bits, use this number. 0: m.
  std::int64_t global_rows = 0;
};

using MatMulPrograms = onednn::ProgramCache<onednn::MatMulSpec>;
using SharedProducts = onednn::SharedPrograms<onednn::MatMulSpec>;
// The products that the kernels of a session share.
inline Result<SharedProducts> shared_products(const KernelInit& init) { return SharedProducts::of(init, "products"); }

// c = activation(A · B + bias). `bias` may be null. REQUIRES: every size > 0.
Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float* a, const float* b,
            const float* bias, const FusedOps& fused, float* out);
Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const bfloat16* a, const bfloat16* b,
            const bfloat16* bias, const FusedOps& fused, bfloat16* out);
Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const float16* a, const float16* b,
            const float16* bias, const FusedOps& fused, float16* out);
Status gemm(KernelContext& c, MatMulPrograms& programs, const Gemm& g, const double* a, const double* b,
            const double* bias, const FusedOps& fused, double* out);

// The bytes of scratch memory that gemm() allocates for this product, on the calling thread's team.
std::uint64_t gemm_scratch_bytes(MatMulPrograms& programs, const Gemm& g, DType dtype, bool bias,
                                 const FusedOps& fused);

namespace internal {

// The type that sums of T are computed in: float for 16-bit floats, an unsigned type for integers, which may wrap.
template <typename T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<bfloat16> {
  using type = float;
};
template <>
struct Accumulator<float16> {
  using type = float;
};
template <std::integral T>
struct Accumulator<T> {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};

template <typename T>
T conjugate(T x) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return std::conj(x);
  } else {
    return x;
  }
}

}  // namespace internal

// Computes rows [begin, end) of the result by a plain loop. With `adjoint`, a transposed operand is conjugated, too.
template <typename A, typename B, typename C, bool adjoint = false>
void gemm_rows(const Gemm& g, const A* a, const B* b, C* out, std::int64_t begin, std::int64_t end) {
  using Sum = typename internal::Accumulator<C>::type;
  const std::int64_t a_row = g.transpose_a ? 1 : g.k, a_column = g.transpose_a ? g.m : 1;
  const std::int64_t b_row = g.transpose_b ? 1 : g.n, b_column = g.transpose_b ? g.k : 1;
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t j = 0; j < g.n; ++j) {
      Sum sum{};
      for (std::int64_t p = 0; p < g.k; ++p) {
        A x = a[i * a_row + p * a_column];
        B y = b[p * b_row + j * b_column];
        if constexpr (adjoint) {
          if (g.transpose_a) x = internal::conjugate(x);
          if (g.transpose_b) y = internal::conjugate(y);
        }
        sum += static_cast<Sum>(x) * static_cast<Sum>(y);
      }
      out[i * g.n + j] = static_cast<C>(sum);
    }
  }
}

}  // namespace argosy
