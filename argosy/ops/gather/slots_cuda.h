// Slots (gpu_slots.h) as kernels and the host see them. Read by nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

struct GpuSlot {
  i64 start;  // of the slice, in elements; -1: names no slice
  i32 next;   // the next slot of the same slice, -1: none
  i32 first;  // 1 if no earlier slot has the same slice
};

// How paths of `depth` indices select slices of a tensor.
struct PathTable {
  static constexpr int kMostDepth = 8;
  int depth;
  i64 sizes[kMostDepth], strides[kMostDepth];
};

}  // namespace argosy::cuda
