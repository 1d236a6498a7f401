// StridedIndex: maps an output index to operand offsets (broadcasting, strides). Passed to kernels by value. The host
// fills it from a BroadcastPlan or from strides (argosy/ops/gpu_kernels.h). Read by nvcc, NVRTC and the host's
// compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

// Axes outermost first, merged where possible. Strides in elements; 0 where an operand is broadcast.
template <int kOperands>
struct StridedIndex {
  static constexpr int kMaxRank = 8;
  int rank;  // 0 or 1: operand k of element i is at i * strides[k][0]
  i64 sizes[kMaxRank];
  i64 strides[kOperands][kMaxRank];

  // Whether vecs of `count` elements are possible. True when `count` neighbours of the output, from a multiple of
  // `count` on, read of every operand either one element or `count` neighbours from a multiple of `count` on.
  ARGOSY_DEVICE bool allows_vecs(int count) const {
    const int inner = rank <= 1 ? 0 : rank - 1;
    for (int k = 0; k < kOperands; ++k) {
      if (strides[k][inner] != 0 && strides[k][inner] != 1) return false;
      for (int axis = 0; strides[k][inner] == 1 && axis < inner; ++axis) {
        if (strides[k][axis] % count != 0) return false;
      }
    }
    return rank <= 1 || sizes[inner] % count == 0;
  }
  // Operand k's stride within a vec: 0 or 1.
  ARGOSY_DEVICE i64 inner_stride(int k) const { return strides[k][rank <= 1 ? 0 : rank - 1]; }

  ARGOSY_DEVICE void at(i64 i, i64* offsets) const {
    for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
    if (rank <= 1) {
      for (int k = 0; k < kOperands; ++k) offsets[k] = i * strides[k][0];
      return;
    }
    for (int axis = rank - 1; axis > 0; --axis) {
      const i64 outer = i / sizes[axis], here = i - outer * sizes[axis];
      for (int k = 0; k < kOperands; ++k) offsets[k] += here * strides[k][axis];
      i = outer;
    }
    for (int k = 0; k < kOperands; ++k) offsets[k] += i * strides[k][0];
  }
};

}  // namespace argosy::cuda
