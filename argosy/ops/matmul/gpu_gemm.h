// Products of matrices on a GPU: by cuBLASLt where it can, else by our own kernel.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/matmul/fused_ops.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy::cuda {

// A batch of products of one shape. Strides are in elements, from one matrix to the next; 0: all products use the same.
struct Batch {
  std::int64_t matrices = 1, a_stride = 0, b_stride = 0;
};

// Whether transposed operands are conjugated, too.
enum class Adjoint { kNo, kYes };

// out = activation(a b + bias), row-major, for floating dtypes; for int64 and complex dtypes without bias and
// activation. An empty sum is 0. 16-bit floats are summed in float32.
Status gemm_on_gpu(KernelContext& c, DType dtype, const Gemm& gemm, const Batch& batch, const void* a, const void* b,
                   const void* bias, const FusedOps& fused, void* out, Adjoint adjoint = Adjoint::kNo);

}  // namespace argosy::cuda
