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

// z = x + what repeats: a period and a run, by packs where x and z lie so.
ARGOSY_KERNEL(test_packs, i64 n, const i16* x, const i16* periodic, i64 period, const i16* runs, i64 run, i16* z,
              i32* packs) {
  constexpr int kPack = kElementsInPack<i16, i16>;
  const auto whole = [=](i64 first) {
    const Pack<i16, kPack> xs = load_pack<kPack>(x, first), ps = load_periodic<kPack>(periodic, first, period),
                           rs = load_runs<kPack>(runs, first, run);
    Pack<i16, kPack> zs;
    for (int k = 0; k < kPack; ++k) zs.at[k] = static_cast<i16>(xs.at[k] + ps.at[k] + rs.at[k]);
    store_pack<kPack>(z, first, zs);
    atomicAdd(packs, 1);
  };
  for_packs<kPack>(n, lie_in_packs<kPack>(x, z), first_index(), index_step(), whole,
                   [=](i64 i) { z[i] = static_cast<i16>(x[i] + periodic[i % period] + runs[i / run]); });
}

}  // namespace argosy::cuda
