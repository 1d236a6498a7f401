// Parameters of the CUDA kernels of optimizer updates: one launch does up to kMostUpdates updates of one rule. Included
// by device code and host code.
//
// The elements of all updates are cut into pieces of kPiece, which are distributed over the blocks. So a large variable
// occupies many blocks, and a small one at most one.
#pragma once

#include "argosy/device/cuda/kernels/numbers.h"
#include "argosy/ops/gather/slots_cuda.h"

namespace argosy::cuda {

struct ApplyTable {
  static constexpr int kMostVariables = 4, kMostScalars = 6, kMostUpdates = 64;
  static constexpr int kPiece = 1024;  // elements
  struct Update {
    void* variables[kMostVariables];
    const void* gradient;
    i64 n;
    i64 first;  // its first piece; the pieces of update u end where those of update u + 1 begin
  };
  const void* scalars[kMostScalars];  // on the GPU, each one element of the variables' dtype
  i64 pieces;
  int count;
  Update updates[kMostUpdates];
};

static_assert(sizeof(ApplyTable) <= 4096);  // the limit of a launch's parameters

// A sparse update: rows of one variable, named by `slots`.
struct ApplyRows {
  const void* scalars[ApplyTable::kMostScalars];
  void* variables[ApplyTable::kMostVariables];
  const void* gradient;  // [count, slice]
  i64 count, slice;
  const GpuSlot* slots;
};

// Two of clang-format's layouts of these lists turn into each other.
// clang-format off
// The rules of dense updates, X(Rule, flag); `flag` is as in update_loops.h.
#define ARGOSY_CUDA_RULES(X)                                                                                          \
  X(GradientDescent, 0)                                                                                               \
  X(ProximalGradientDescent, 0)                                                                                       \
  X(Adadelta, 0) X(Adagrad, 0) X(Adagrad, 1) X(AdagradV2, 0) X(AdagradV2, 1) X(ProximalAdagrad, 0) X(Momentum, 0)     \
      X(Momentum, 1) X(KerasMomentum, 0) X(KerasMomentum, 1) X(Adam, 0) X(Adam, 1) X(AdamWithAmsgrad, 0) X(AdaMax, 0) \
          X(RMSProp, 0) X(CenteredRMSProp, 0) X(AddSign, 0) X(PowerSign, 0) X(Ftrl, 0) X(Ftrl, 1) X(FtrlV2, 0)        \
              X(FtrlV2, 1)
// The rules that have a sparse op.
#define ARGOSY_CUDA_ROW_RULES(X)                                                                                     \
  X(ProximalGradientDescent, 0)                                                                                      \
  X(Adadelta, 0)                                                                                                     \
  X(Adagrad, 0) X(Adagrad, 1) X(AdagradV2, 0) X(AdagradV2, 1) X(ProximalAdagrad, 0) X(Momentum, 0) X(Momentum, 1)    \
      X(KerasMomentum, 0) X(KerasMomentum, 1) X(RMSProp, 0) X(CenteredRMSProp, 0) X(Ftrl, 0) X(Ftrl, 1) X(FtrlV2, 0) \
          X(FtrlV2, 1)
// clang-format on

}  // namespace argosy::cuda
