#include "argosy/ops/elementwise/gpu/functions_cuda.h"
#include "argosy/ops/elementwise/gpu/kernel_list_cuda.h"
#include "argosy/ops/elementwise/gpu/loops_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_UNARY_FUNCTIONS(ARGOSY_CUDA_UNARY_KERNEL)

}  // namespace argosy::cuda
