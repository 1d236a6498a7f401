// The layout family on a GPU: its CPU kernels decide what goes where, a copy engine carries it out.
#include "argosy/ops/layout/layout_ops.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

void add_kernels_cuda_layout_parts(KernelRegistry& kernels);

void add_kernels_cuda_layout(KernelRegistry& kernels) {
  for (const char* op : kLayoutOps) {
    kernels.add(op, "cuda", cuda::make_layout, {{"T", cuda::kGpuTypes}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
  kernels.add("ConcatOffset", "cuda", cuda::make_on_host);
  kernels.add("InvertPermutation", "cuda", cuda::make_on_host);
  add_kernels_cuda_layout_parts(kernels);
}

}  // namespace argosy
