// Products by cuBLASLt: the problem that describes a product of row-major matrices, and a cache of algorithms by
// problem.
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
// d = op(a) op(b), column-major. A row-major matrix is a column-major one transposed, so a is the second matrix of the
// row-major product and b its first, and no data moves.
struct BlasProblem {
  int type = 0, compute = 0, scale = 0;
  BlasOperand a, b, d;
  std::int64_t batches = 1;
  bool bias = false, relu = false;
  unsigned alignment = 256;  // the least alignment of the matrices' addresses, in bytes
  auto operator<=>(const BlasProblem&) const = default;
};
BlasProblem blas_problem(DType dtype, const Gemm& gemm, const Batch& batch, bool bias, bool relu, bool tf32);

// The most products of one call. Some algorithms cannot do more, and the library may say so only when they run.
inline constexpr std::int64_t kMostBlasBatches = 65535;
// The alignment of a bias that the library's kernels assume, in bytes: unlike for matrices, no attribute sets it.
inline constexpr unsigned kBlasBiasAlignment = 16;

// cuBLASLt on one device. Thread-safe.
class GpuBlas {
 public:
  // With these functions instead of the library's, for tests.
  static Result<std::shared_ptr<GpuBlas>> over(const BlasCalls& calls);
  // The functions of a loaded library. UNAVAILABLE (ARG-GPU-012): it is older than 12.0, or lacks a function.
  static Result<BlasCalls> calls_of(const Library& library);
  // Loads the machine's library (library.h).
  static Result<std::shared_ptr<GpuBlas>> open();
  ~GpuBlas();
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;

  // UNIMPLEMENTED where the library has no algorithm for the problem, or refuses the one it named: nothing was
  // launched, and the caller uses our own kernel. `scratch` allocates device memory for the length of the call.
  // REQUIRES: a bias is at a multiple of kBlasBiasAlignment.
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
