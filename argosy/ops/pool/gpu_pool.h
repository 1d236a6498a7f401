// The parts that the GPU kernels of pooling share, our own and cuDNN's: checks of inputs, and shapes. Private to this
// folder.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/pool/pool_geometry.h"

namespace argosy {

enum class PoolKind { kMax, kMaxGrad, kMaxGradGrad, kAvg, kAvgGrad };

constexpr bool to_image(PoolKind kind) { return kind == PoolKind::kMaxGrad || kind == PoolKind::kAvgGrad; }

struct PoolCall {
  PoolGeometry geometry;
  Shape image, pooled;
  bool nchw = false;
  std::int64_t channels = 0;  // also for NCHW, where the geometry has one channel
  Shape output(PoolKind kind) const { return to_image(kind) ? image : pooled; }
};
// Checks the node's inputs, and reads window and strides from them where they are inputs. `attrs`: what its attributes
// say.
Result<PoolCall> begin_pool(KernelContext& c, PoolAttrs attrs, PoolKind kind);
// The same, for an image of this shape.
Result<PoolCall> pool_of(const PoolAttrs& attrs, const Shape& image);

// Makers of the kernels: our own (pool_cuda.cc), and cuDNN's (dnn_pool_cuda.cc), for kMax, kAvg and kAvgGrad only.
template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_own_pool(const KernelInit& init);
template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_dnn_pool(const KernelInit& init);

}  // namespace argosy
