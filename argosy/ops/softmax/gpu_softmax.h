// The GPU kernels of softmax and its gradient: makers. Private to this folder.
#pragma once

#include "argosy/ops/gpu_kernels.h"

namespace argosy::gpu_softmax {

enum class Kind { kSoftmax, kLogSoftmax };

// Our own kernels (softmax_cuda.cc; own() runs one), and cuDNN's (dnn_softmax_cuda.cc).
template <Kind kKind>
Status own(KernelContext& c);
Result<std::unique_ptr<Kernel>> make_own_gradient(const KernelInit& init);
template <Kind kKind>
Result<std::unique_ptr<Kernel>> make_by_dnn(const KernelInit& init);
Result<std::unique_ptr<Kernel>> make_gradient_by_dnn(const KernelInit& init);

}  // namespace argosy::gpu_softmax
