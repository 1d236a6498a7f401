#include "argosy/ops/elementwise/functions_cuda.h"
#include "argosy/ops/elementwise/loops_cuda.h"
#include "argosy/ops/elementwise/kernel_list_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_BINARY_FUNCTIONS(ARGOSY_CUDA_BINARY_KERNEL)

}  // namespace argosy::cuda
