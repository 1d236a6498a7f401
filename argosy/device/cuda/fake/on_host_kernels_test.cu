// Kernels that show what the shim must be able to do.
#include "argosy/device/cuda/kernels/kernel_source.h"

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
  mine = block_reduce(mine, scratch, PlusFold{});
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

// z = x + what repeats: a period and a run, by vecs where x and z lie so.
ARGOSY_KERNEL(test_vecs, i64 n, const i16* x, const i16* periodic, i64 period, const i16* runs, i64 run, i16* z,
              i32* vecs) {
  constexpr int kVec = kVecElements<i16, i16>;
  const auto whole = [=](i64 first) {
    const Vec<i16, kVec> xs = load_vec<kVec>(x, first), ps = load_periodic<kVec>(periodic, first, period),
                         rs = load_runs<kVec>(runs, first, run);
    Vec<i16, kVec> zs;
    for (int k = 0; k < kVec; ++k) zs.at[k] = static_cast<i16>(xs.at[k] + ps.at[k] + rs.at[k]);
    store_vec<kVec>(z, first, zs);
    atomicAdd(vecs, 1);
  };
  for_vecs<kVec>(n, are_vec_aligned<kVec>(x, z), first_index(), index_step(), whole,
                 [=](i64 i) { z[i] = static_cast<i16>(x[i] + periodic[i % period] + runs[i / run]); });
}

// --- mistakes, for what watches kernels to find, each beside the same without it
// ---------------------------------------

// Reverses as test_reverse does, without its barrier.
ARGOSY_KERNEL(test_reverse_at_once, const i32* x, i32* y) {
  ARGOSY_SHARED i32 tile[256];
  const i64 base = static_cast<i64>(blockIdx.x) * 256;
  tile[threadIdx.x] = x[base + threadIdx.x];
  y[base + threadIdx.x] = tile[255 - threadIdx.x];
}

// Twice over the same shared memory: the second round overwrites what others may still have to read.
ARGOSY_KERNEL(test_reverse_twice, const i32* x, i32* y, int waits) {
  ARGOSY_SHARED i32 tile[64];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = x[round * 64 + threadIdx.x];
    __syncthreads();
    y[round * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    if (waits) __syncthreads();
  }
}

// Every thread counts at *y.
ARGOSY_KERNEL(test_count, i32* y, int atomically) {
  if (atomically) {
    atomicAdd(y, 1);
  } else {
    *y = *y + 1;
  }
}

// Block 1 reads what block 0 writes, whichever runs first.
ARGOSY_KERNEL(test_blocks_meet, i32* x, i32* y, int back) {
  const bool writes = (blockIdx.x == 0) != (back != 0);
  if (threadIdx.x != 0) return;
  if (writes) {
    *x = 1;
  } else {
    *y = *x;
  }
}

// Neighbouring lanes by way of memory: 0 does not wait, 1 shuffles, 2 synchronises the warp.
ARGOSY_KERNEL(test_lanes_meet, i32* y, int how) {
  ARGOSY_SHARED i32 tile[64];
  tile[threadIdx.x] = static_cast<i32>(threadIdx.x);
  if (how == 1) of_neighbour(1, 1);
  if (how == 2) __syncwarp();
  y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Reads of shared memory what no thread of the block wrote; from the second block on there is what the one before left.
ARGOSY_KERNEL(test_left_behind, i32* y) {
  ARGOSY_SHARED i32 left;
  if (blockIdx.x == 0) left = 5;
  y[blockIdx.x] = left;
}

// The last of `threads` threads shuffles with one that has left.
ARGOSY_KERNEL(test_lane_left, i32* y) {
  if (threadIdx.x == 32) return;
  y[threadIdx.x] = of_neighbour(static_cast<i32>(threadIdx.x), 1);
}

// Two numbers at once: 8 bytes, at a multiple of 8 on a GPU.
ARGOSY_KERNEL(test_copy_by_two, i64 n, const f32* x, f32* y) {
  for (i64 i = first_index(); i < n; i += index_step())
    reinterpret_cast<u64*>(y)[i] = reinterpret_cast<const u64*>(x)[i];
}

// One more than there are.
ARGOSY_KERNEL(test_copy_one_more, i64 n, const f32* x, f32* y) {
  for (i64 i = first_index(); i < n; i += index_step()) y[i] = x[i + 1];
}

// Without order between threads or blocks: who came when.
ARGOSY_KERNEL(test_who_comes, i32* turn, i32* y) {
  const i32 me = static_cast<i32>(first_index());
  y[me] = atomicAdd(turn, 1);
  __syncthreads();
  y[me + gridDim.x * blockDim.x] = atomicAdd(turn, 1);
}

}  // namespace argosy::cuda
