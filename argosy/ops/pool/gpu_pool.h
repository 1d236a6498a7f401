// What the kernels of pooling on a GPU share: nodes checked, whoever computes them. Private to this folder.
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
  std::int64_t channels = 0;  // NCHW's too
  Shape output(PoolKind kind) const { return to_image(kind) ? image : pooled; }
};
// From the node's inputs; `attrs` are those of its attributes.
Result<PoolCall> begin_pool(KernelContext& c, PoolAttrs attrs, PoolKind kind);
// The same of an image.
Result<PoolCall> pool_of(const PoolAttrs& attrs, const Shape& image);

// By our own kernels (pool_cuda.cc), and by cuDNN (dnn_pool_cuda.cc), which has kMax, kAvg and kAvgGrad.
template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_own_pool(const KernelInit& init);
template <PoolKind kKind>
Result<std::unique_ptr<Kernel>> make_dnn_pool(const KernelInit& init);

}  // namespace argosy
