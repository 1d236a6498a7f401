// Reductions on a GPU: what reductions, bias gradients and losses share.
#pragma once

#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/reduction/reduction_plan.h"

namespace argosy::cuda {

// What becomes of a fold in the end: as in reduce_cuda.cu.
struct Finish {
  std::int64_t divide_by = -1;  // below 0: nothing
  int root = 0;
};

// y = the fold of x over the groups that are folded, in order with what is launched. `fold`: "sum", "sumsq", "prod",
// "max", "min", of floating dtypes, int64 but for "sumsq", and complex ones for "sum" and "prod"; "all", "any", of
// bool. 16-bit floats are folded in float32 and rounded once. The order of operations depends on the groups alone.
Status reduce_on_gpu(KernelContext& c, std::string_view fold, DType dtype, const void* x,
                     std::vector<reduction::Group> groups, void* y, Finish finish = {});

}  // namespace argosy::cuda
