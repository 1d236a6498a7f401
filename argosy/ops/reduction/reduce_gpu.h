// reduce_on_gpu(): the reduction that the GPU kernels of reductions, bias gradients and losses use.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy::cuda {

// The last step of a reduction, as in reduce_cuda.cu: an optional division, then an optional square root.
struct Finish {
  std::int64_t divide_by = -1;  // negative: no division
  int root = 0;
};

// y = the reduction of x over the groups with `folded`, launched on the kernel's stream. `fold` and its dtypes:
// * "sum", "prod": floating dtypes, int64, complex dtypes;
// * "max", "min": floating dtypes, int64;
// * "sumsq": floating dtypes;
// * "all", "any": bool.
// 16-bit floats are reduced in float32 and rounded once. The order of operations depends on the groups alone.
Status reduce_on_gpu(KernelContext& c, std::string_view fold, DType dtype, const void* x,
                     std::vector<reduction::Group> groups, void* y, Finish finish = {});

}  // namespace argosy::cuda
