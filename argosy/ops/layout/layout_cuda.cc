// The layout family on a card: its CPU kernels decide what goes where, a mover carries it out.
#include "argosy/ops/layout/gpu_copy_engine.h"
#include "argosy/ops/layout/layout_ops.h"

namespace argosy {

void add_kernels_cuda_layout_parts(KernelRegistry& kernels);

void add_kernels_cuda_layout(KernelRegistry& kernels) {
  for (const char* op : kMovedOps) {
    kernels.add(op, "cuda", cuda::make_moving, {{"T", cuda::kCardTypes}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
  kernels.add("ConcatOffset", "cuda", cuda::make_on_host);
  kernels.add("InvertPermutation", "cuda", cuda::make_on_host);
  add_kernels_cuda_layout_parts(kernels);
}

}  // namespace argosy
