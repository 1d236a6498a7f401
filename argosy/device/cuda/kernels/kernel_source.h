// Included first by every .cu file of kernels. A kernel is written once and compiled twice: by nvcc into the plug-in,
// and by the host's compiler (with fake/on_host.h) into a library for the fake driver.
//
//   ARGOSY_KERNEL(fill_f32, i64 n, f32* y, f32 value) {
//     for (i64 i = first_index(); i < n; i += index_step()) y[i] = value;
//   }
//
// The host launches a kernel by its name (launch.h); the name has C linkage and is unique in the plug-in. Rules:
// * For both compilers: shared memory is declared ARGOSY_SHARED (static size). No thread returns before a barrier that
//   others reach. No inline PTX without a host twin. No vendor headers.
// * For the GPU: a block has at most kMostThreads threads (the fake driver refuses more). Registers are not spilled,
//   and static shared memory is at most 48 KiB (else the build by nvcc fails).
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"
#include "argosy/device/cuda/kernels/vec.h"

#if defined(__CUDACC__)
#define ARGOSY_KERNEL(name, ...) \
  extern "C" __global__ void __launch_bounds__(::argosy::cuda::kMostThreads) name(__VA_ARGS__)
#define ARGOSY_SHARED __shared__
#else
#include "argosy/device/cuda/fake/on_host.h"
#endif

namespace argosy::cuda {

// Types for elements that are only moved, by size. Size equals alignment: one access each.
struct alignas(16) Sixteen {
  u64 words[2];
};
using b1 = u8;
using b2 = u16;
using b4 = u32;
using b8 = u64;
using b16 = Sixteen;

// Grid-stride loops over n elements: for (i64 i = first_index(); i < n; i += index_step()).
ARGOSY_DEVICE i64 first_index() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }
ARGOSY_DEVICE i64 index_step() { return static_cast<i64>(gridDim.x) * blockDim.x; }

template <typename T>
ARGOSY_DEVICE Compute<T> load(const T* from, i64 i) {
  return Number<T>::load(from[i]);
}
template <typename T>
ARGOSY_DEVICE void store(T* to, i64 i, Compute<T> value) {
  to[i] = Number<T>::store(value);
}

// The value of the thread `step` lanes away. The cast is needed because a GPU shuffles a bool as an int.
template <typename A>
ARGOSY_DEVICE A of_neighbour(A value, int step) {
  return static_cast<A>(__shfl_xor_sync(0xffffffffu, value, step));
}
ARGOSY_DEVICE c64 of_neighbour(c64 value, int step) {
  return {of_neighbour(value.re, step), of_neighbour(value.im, step)};
}
ARGOSY_DEVICE c128 of_neighbour(c128 value, int step) {
  return {of_neighbour(value.re, step), of_neighbour(value.im, step)};
}

// Block reduction: the sum (or another fold) of `value` over the threads of a block, returned to every thread.
// `scratch`: shared memory, 32 elements (one for each warp). REQUIRES: every thread of the block calls it; blockDim.x
// is a multiple of 32 and at most 1024. The order depends on blockDim.x alone.
template <typename A, typename Fold>
ARGOSY_DEVICE A block_reduce(A value, A* scratch, Fold fold) {
  for (int step = 16; step > 0; step /= 2) {
    value = fold(value, of_neighbour(value, step));
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  A all = scratch[0];
  for (int w = 1; w < warps; ++w) all = fold(all, scratch[w]);
  return all;
}

}  // namespace argosy::cuda
