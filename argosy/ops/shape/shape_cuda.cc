// Shape ops on a GPU: the CPU's kernels. Shapes are in host memory, and a reshaped tensor shares its input's memory.
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_shape(KernelRegistry& kernels) {
  for (const char* op : {"Shape", "ShapeN", "Size", "Rank", "Reshape", "Squeeze", "ExpandDims"}) {
    kernels.add(op, "cuda", cuda::make_on_host);
  }
  kernels.add("Range", "cuda", cuda::make_on_host, {{"Tidx", {DType::kInt32}}});
}

}  // namespace argosy
