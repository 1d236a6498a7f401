// Kernels that show what the shim must be able to do.
#include "argosy/device/cuda/kernel_source.h"

namespace argosy::cuda {

ARGOSY_KERNEL(test_add, i64 n, const f32* x, const f32* y, f32* z) {
  for (i64 i = first_index(); i < n; i += index_step()) z[i] = x[i] + y[i];
}

// Reverses every block of 256 by way of shared memory.
ARGOSY_KERNEL(test_reverse, const i32* x, i32* y) {
  ARGOSY_SHARED i32 tile[256];
  const i64 base = static_cast<i64>(blockIdx.x) * 256;
  tile[threadIdx.x] = x[base + threadIdx.x];
  __syncthreads();
  y[base + threadIdx.x] = tile[255 - threadIdx.x];
}

struct PlusFold {
  template <typename A>
  ARGOSY_DEVICE A operator()(A a, A b) const {
    return a + b;
  }
};
ARGOSY_KERNEL(test_sum, i64 n, const f64* x, f64* sums, u32* visits) {
  ARGOSY_SHARED f64 scratch[32];
  f64 mine = 0;
  for (i64 i = first_index(); i < n; i += index_step()) mine += x[i];
  mine = fold_block(mine, scratch, PlusFold{});
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = mine;
    atomicAdd(visits, 1u);
  }
}

// Half of the warp waits where the other half does not come.
ARGOSY_KERNEL(test_divergence, i32* y) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else if (threadIdx.x < 32) {
    __syncwarp();
  }
  y[threadIdx.x] = 1;
}

ARGOSY_KERNEL(test_16_bits, i64 n, const f16* x, const bf16* y, f16* x_back, bf16* y_back, f32* sum) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    const f32 a = load(x, i), b = load(y, i);
    store(x_back, i, a);
    store(y_back, i, b);
    sum[i] = a + b;
  }
}

}  // namespace argosy::cuda
