// CombineTable: the argument of the kernels in argosy/ops/collective/combine_cuda.cu, passed by value. It lists parts
// of arrays. Each part is combined from any number of inputs and written to any number of outputs, on any GPUs. Read by
// nvcc and the host's compiler.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"

namespace argosy::cuda {

struct CombineTable {
  static constexpr int kMostParts = 32;
  static constexpr int kMostPointers = 320;
  static constexpr int kLevels = 9;  // depth of a binary tree over fewer than kMostPointers inputs

  struct Part {
    i64 begin, end;  // range of elements that this launch combines
    int inputs, outputs;
    int first;  // position in `pointers` of its first input; its outputs follow the inputs
    int unused;
  };
  int reduction;  // as argosy::Reduction
  int tree;       // else a chain: argosy::CombineOrder
  f64 divisor;    // of a mean
  Part parts[kMostParts];
  void* pointers[kMostPointers];
};
static_assert(sizeof(CombineTable) <= 4096, "parameters of a kernel are 4 KiB at most");

}  // namespace argosy::cuda
