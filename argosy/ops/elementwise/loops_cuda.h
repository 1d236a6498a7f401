// Loops of elementwise kernels. For .cu files.
#pragma once

#include "argosy/device/cuda/kernel_source.h"
#include "argosy/device/cuda/walk.h"

namespace argosy::cuda {

template <typename F, typename T, typename R>
ARGOSY_DEVICE void unary_loop(i64 n, const T* x, R* y) {
  for (i64 i = first_index(); i < n; i += index_step()) store(y, i, F::call(load(x, i)));
}

template <typename F, typename T, typename R>
ARGOSY_DEVICE void binary_loop(i64 n, const T* x, const T* y, R* z, const Walk<2>& walk) {
  for (i64 i = first_index(); i < n; i += index_step()) {
    i64 at[2];
    walk.at(i, at);
    store(z, i, F::call(load(x, at[0]), load(y, at[1])));
  }
}

#define ARGOSY_CUDA_UNARY_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, T* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_ASKS_ONE_KERNEL(F, T) \
  ARGOSY_KERNEL(unary_##F##_##T, i64 n, const T* x, bool* y) { unary_loop<fn::F>(n, x, y); }
#define ARGOSY_CUDA_BINARY_KERNEL(F, T)                                                \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, T* z, Walk<2> walk) { \
    binary_loop<fn::F>(n, x, y, z, walk);                                              \
  }
#define ARGOSY_CUDA_ASKS_TWO_KERNEL(F, T)                                                 \
  ARGOSY_KERNEL(binary_##F##_##T, i64 n, const T* x, const T* y, bool* z, Walk<2> walk) { \
    binary_loop<fn::F>(n, x, y, z, walk);                                                 \
  }

}  // namespace argosy::cuda
