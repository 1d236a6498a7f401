// What the kernels of batch normalisation on a GPU share: nodes checked and outputs made, whoever computes them.
// Private to this folder.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/norm/batch_norm_layout.h"
#include "argosy/ops/norm/gpu/gpu_norm.h"

namespace argosy::batch_norm {

// One normalisation: x and y. Outputs 1 to 4 are statistics [channels]. First come mean and variance of the batch, or
// running ones where there are any; then mean and variance without Bessel's correction, kept for the gradient.
struct Forward {
  Layout layout;
  const Tensor* x = nullptr;
  Tensor* y = nullptr;
  float* stats[4] = {};
};
Result<Forward> begin_forward(KernelContext& c, const Options& o);
// The vectors of that for kernels; `line`: room for two numbers a channel, of those that make y of them.
cuda::GpuBatchNorm vectors_of(const KernelContext& c, const Options& o, const Forward& f, float* line);

struct Backward {
  Layout layout;
  const Tensor *dy = nullptr, *x = nullptr;
  Tensor *dx = nullptr, *dscale = nullptr, *doffset = nullptr;
  void* side = nullptr;  // what the side input gets, where there is one
};
Result<Backward> begin_backward(KernelContext& c, const Options& o);

// By our own kernels (batch_norm_cuda.cc), and by cuDNN (dnn_batch_norm_cuda.cc).
Result<std::unique_ptr<Kernel>> make_own(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_own_gradient(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_by_dnn(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_gradient_by_dnn(const KernelInit& init);

}  // namespace argosy::batch_norm
