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
  // Of a batch, when its m rows or the k that are added up are examples: float32's bits then do not depend on how many
  // of them are here. (transpose_b without transpose_a adds up as it likes.)
  ReductionChunks batch = {};
  std::int64_t per_example = 1;  // rows that one example has
  // The rows of the whole product, where the m rows are only some of them: a device's shard, a block. Choices that
  // depend on the number of rows, and change their bits, go by this number. 0: m.
  std::int64_t global_rows = 0;
};

using MatMulPrograms = onednn::ProgramCache<onednn::MatMulSpec>;
using SharedProducts = onednn::SharedPrograms<onednn::MatMulSpec>;
// Those of the session that a kernel is made for.
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

// Scratch memory that gemm() takes for such a product, with the calling thread's team. Bytes.
std::uint64_t gemm_scratch_bytes(MatMulPrograms& programs, const Gemm& g, DType dtype, bool bias,
                                 const FusedOps& fused);

namespace internal {

// What sums of T are kept in: 16-bit floats in float; integers in an unsigned type, where they may wrap.
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

// The plain loop. With `adjoint`, a transposed operand is conjugated, too. Rows [begin, end) of the result.
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
