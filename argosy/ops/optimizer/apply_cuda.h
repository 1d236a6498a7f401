// Several updates of one rule as one launch: what its kernel is given. Read by nvcc and the host's compiler.
//
// The elements of all updates are cut into pieces, which the blocks share out. A large variable keeps as many blocks at
// work as it needs, a small one no more than one.
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
    i64 first;  // its first piece; those of update u end where those of u + 1 begin
  };
  const void* scalars[kMostScalars];  // on the GPU, each one element of the variables' dtype
  i64 pieces;
  int count;
  Update updates[kMostUpdates];
};

static_assert(sizeof(ApplyTable) <= 4096);  // what a launch may be given

// Rows of one variable, named by slots.
struct ApplyRows {
  const void* scalars[ApplyTable::kMostScalars];
  void* variables[ApplyTable::kMostVariables];
  const void* gradient;  // [count, slice]
  i64 count, slice;
  const GpuSlot* slots;
};

// Two of clang-format's layouts of these lists turn into each other.
// clang-format off
// Rows X(Rule, flag): flag of the op's own attribute, as in update_loops.h.
#define ARGOSY_CUDA_RULES(X)                                                                                          \
  X(GradientDescent, 0)                                                                                               \
  X(ProximalGradientDescent, 0)                                                                                       \
  X(Adadelta, 0) X(Adagrad, 0) X(Adagrad, 1) X(AdagradV2, 0) X(AdagradV2, 1) X(ProximalAdagrad, 0) X(Momentum, 0)     \
      X(Momentum, 1) X(KerasMomentum, 0) X(KerasMomentum, 1) X(Adam, 0) X(Adam, 1) X(AdamWithAmsgrad, 0) X(AdaMax, 0) \
          X(RMSProp, 0) X(CenteredRMSProp, 0) X(AddSign, 0) X(PowerSign, 0) X(Ftrl, 0) X(Ftrl, 1) X(FtrlV2, 0)        \
              X(FtrlV2, 1)
// Those that have a sparse op.
#define ARGOSY_CUDA_ROW_RULES(X)                                                                                     \
  X(ProximalGradientDescent, 0)                                                                                      \
  X(Adadelta, 0)                                                                                                     \
  X(Adagrad, 0) X(Adagrad, 1) X(AdagradV2, 0) X(AdagradV2, 1) X(ProximalAdagrad, 0) X(Momentum, 0) X(Momentum, 1)    \
      X(KerasMomentum, 0) X(KerasMomentum, 1) X(RMSProp, 0) X(CenteredRMSProp, 0) X(Ftrl, 0) X(Ftrl, 1) X(FtrlV2, 0) \
          X(FtrlV2, 1)
// clang-format on

}  // namespace argosy::cuda
