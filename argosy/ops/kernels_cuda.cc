#include "argosy/device/cuda/kernels/kernels.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

#define OP_FAMILY(family) void add_kernels_cuda_##family(KernelRegistry&);
#include "argosy/ops/cuda_families.inc"
#undef OP_FAMILY

void add_cuda_kernels(KernelRegistry& kernels) {
#define OP_FAMILY(family) add_kernels_cuda_##family(kernels);
#include "argosy/ops/cuda_families.inc"
#undef OP_FAMILY
}

}  // namespace argosy
