// Moving elements by size: strided copies, fills, choices.
#include "argosy/device/cuda/kernels/kernel_source.h"
#include "argosy/device/cuda/kernels/strided_index.h"

namespace argosy::cuda {

// Element i of the index goes from operand 1's place to operand 0's.
template <typename T>
ARGOSY_DEVICE void move(i64 n, T* to, const T* from, const StridedIndex<2>& strided) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    i64 at[2];
    strided.at(i, at);
    to[at[0]] = from[at[1]];
  }
}

// A matrix turned over, tile by tile, so that both sides are read and written in order: to[b][c][r] = from[b][r][c].
// Blocks of 32 x 8 threads.
template <typename T>
ARGOSY_DEVICE void turn(i64 batches, i64 rows, i64 columns, T* to, const T* from) {
  ARGOSY_SHARED T tile[32][33];
  const i64 across = (columns + 31) / 32, down = (rows + 31) / 32;
  for (i64 t = blockIdx.x; t < batches * across * down; t += gridDim.x) {
    const i64 batch = t / (across * down), r0 = t % (across * down) / across * 32, c0 = t % across * 32;
    const i64 base = batch * rows * columns;
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
      if (r0 + k < rows && c0 + threadIdx.x < columns) {
        tile[k][threadIdx.x] = from[base + (r0 + k) * columns + c0 + threadIdx.x];
      }
    }
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
      if (c0 + k < columns && r0 + threadIdx.x < rows) {
        to[base + (c0 + k) * rows + r0 + threadIdx.x] = tile[threadIdx.x][k];
      }
    }
    __syncthreads();
  }
}

template <typename T>
ARGOSY_DEVICE void fill(i64 n, T* to, T value) {
  for (i64 i = first_index(); i < n; i += index_step()) to[i] = value;
}

// condition ? x : y, all three walking.
template <typename T>
ARGOSY_DEVICE void select(i64 n, const bool* condition, const T* x, const T* y, T* z, const StridedIndex<3>& strided) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    i64 at[3];
    strided.at(i, at);
    z[i] = condition[at[0]] ? x[at[1]] : y[at[2]];
  }
}

#define ARGOSY_MOVES(T)                                                                                            \
  ARGOSY_KERNEL(move_##T, i64 n, T* to, const T* from, StridedIndex<2> strided) { move(n, to, from, strided); }    \
  ARGOSY_KERNEL(fill_##T, i64 n, T* to, T value) { fill(n, to, value); }                                           \
  ARGOSY_KERNEL(turn_##T, i64 batches, i64 rows, i64 columns, T* to, const T* from) {                              \
    turn(batches, rows, columns, to, from);                                                                        \
  }                                                                                                                \
  ARGOSY_KERNEL(select_##T, i64 n, const bool* condition, const T* x, const T* y, T* z, StridedIndex<3> strided) { \
    select(n, condition, x, y, z, strided);                                                                        \
  }
ARGOSY_MOVES(b1)
ARGOSY_MOVES(b2)
ARGOSY_MOVES(b4)
ARGOSY_MOVES(b8)
ARGOSY_MOVES(b16)

}  // namespace argosy::cuda
