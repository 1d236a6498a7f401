#include "argosy/ops/elementwise/functions_cuda.h"
#include "argosy/ops/elementwise/loops_cuda.h"
#include "argosy/ops/elementwise/kernel_list_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_UNARY_FUNCTIONS(ARGOSY_CUDA_UNARY_KERNEL)

}  // namespace argosy::cuda
