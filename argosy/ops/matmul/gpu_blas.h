// Products by cuBLASLt: what is asked of it for a product of row-major matrices, and the answers kept by problem.
#pragma once

#include <compare>
#include <memory>

#include "argosy/device/cuda/dnn/blas_calls.h"
#include "argosy/device/cuda/driver/library.h"
#include "argosy/ops/matmul/gpu_gemm.h"

namespace argosy::cuda {

// One column-major operand as cuBLASLt sees it.
struct BlasOperand {
  std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  bool transposed = false;
  auto operator<=>(const BlasOperand&) const = default;
};
// d = op(a) op(b), column-major: the row-major product turned over, so that nothing is moved. a is the product's
// second matrix, b its first.
struct BlasProblem {
  int type = 0, compute = 0, scale = 0;
  BlasOperand a, b, d;
  std::int64_t batches = 1;
  bool bias = false, relu = false;
  unsigned alignment = 256;  // of every matrix, at least, in bytes
  auto operator<=>(const BlasProblem&) const = default;
};
BlasProblem blas_problem(DType dtype, const Gemm& gemm, const Batch& batch, bool bias, bool relu, bool tf32);

// More at once some of its ways do not do, and it may say so only when they are started.
inline constexpr std::int64_t kMostBlasBatches = 65535;
// Its kernels read the bias in pieces of so many bytes; unlike for matrices, nothing tells them of less.
inline constexpr unsigned kBlasBiasAlignment = 16;

// cuBLASLt on one device. Thread-safe.
class GpuBlas {
 public:
  // Over calls of one's own: tests.
  static Result<std::shared_ptr<GpuBlas>> over(const BlasCalls& calls);
  // A library's. UNAVAILABLE (ARG-GPU-012): it is older than 12.0, or lacks one.
  static Result<BlasCalls> calls_of(const Library& library);
  // The library as found (library.h).
  static Result<std::shared_ptr<GpuBlas>> open();
  ~GpuBlas();
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;

  // UNIMPLEMENTED where the library knows no way for the problem, or refuses the one it gave: nothing was started, our
  // own kernel does it. `scratch` gives device memory for the length of the call. A bias is REQUIRED to lie at a
  // multiple of kBlasBiasAlignment.
  struct Pointers {
    const void *a, *b, *bias;
    void* d;
  };
  Status multiply(const BlasProblem& problem, const Pointers& at, Allocator& scratch, void* stream);

 private:
  struct State;
  explicit GpuBlas(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
