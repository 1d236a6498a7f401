// The parts that the GPU kernels of batch normalisation share, our own and cuDNN's: checks of inputs, allocation of
// outputs. Private to this folder.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/norm/batch_norm_layout.h"
#include "argosy/ops/norm/gpu/gpu_norm.h"

namespace argosy::batch_norm {

// The tensors of one normalisation. `stats` are outputs 1 to 4, float32 [channels]. The first two are mean and variance
// of the batch, or running ones, where the op has them. The last two are mean and variance without Bessel's correction,
// kept for the gradient.
struct Forward {
  Layout layout;
  const Tensor* x = nullptr;
  Tensor* y = nullptr;
  float* stats[4] = {};
};
Result<Forward> begin_forward(KernelContext& c, const Options& o);
// The vectors per channel that our kernels take. `line`: room for 2 * channels numbers, the coefficients of
// y = x * line[channel] + line[channels + channel].
cuda::GpuBatchNorm vectors_of(const KernelContext& c, const Options& o, const Forward& f, float* line);

struct Backward {
  Layout layout;
  const Tensor *dy = nullptr, *x = nullptr;
  Tensor *dx = nullptr, *dscale = nullptr, *doffset = nullptr;
  void* side = nullptr;  // the gradient of the side input; null: there is none
};
Result<Backward> begin_backward(KernelContext& c, const Options& o);

// Makers of the kernels: our own (batch_norm_cuda.cc), and cuDNN's (dnn_batch_norm_cuda.cc).
Result<std::unique_ptr<Kernel>> make_own(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_own_gradient(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_by_dnn(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_gradient_by_dnn(const KernelInit& init);

}  // namespace argosy::batch_norm
