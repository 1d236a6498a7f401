// BiasAdd and its gradient. Private to this folder but for the column sums, which other families share.
#pragma once

#include "argosy/op/definition/registry.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

void define_bias(OpRegistry& ops);
void add_kernels_cpu_bias(KernelRegistry& kernels);

// sums[c] = the sum over rows of x[row * columns + c]. Rows are added in blocks whose number does not depend on the
// number of threads, so the result does not either. Scratch memory comes from the kernel's context.
Status sum_columns(KernelContext& c, std::int64_t rows, std::int64_t columns, const float* x, float* sums);

}  // namespace argosy
