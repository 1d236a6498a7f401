// Products of matrices on a GPU: the libraries' where there are any, our own kernel last.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy::cuda {

// Many products of one shape, side by side; a stride of 0: the same matrix for all.
struct Batch {
  std::int64_t matrices = 1, a_stride = 0, b_stride = 0;
};

// Of complex numbers: transposed operands are conjugated too.
enum class Adjoint { kNo, kYes };

// out = activation(a b + bias), row by row, of a floating dtype, int64 or complex numbers (without bias and
// activation). An empty sum is 0. 16-bit floats are summed in float32.
Status gemm_on_gpu(KernelContext& c, DType dtype, const Gemm& gemm, const Batch& batch, const void* a, const void* b,
                   const void* bias, const FusedOps& fused, void* out, Adjoint adjoint = Adjoint::kNo);

}  // namespace argosy::cuda
