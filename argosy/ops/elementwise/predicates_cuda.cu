#include "argosy/ops/elementwise/functions_cuda.h"
#include "argosy/ops/elementwise/loops_cuda.h"
#include "argosy/ops/elementwise/kernel_list_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_ASKS_ONE(ARGOSY_CUDA_ASKS_ONE_KERNEL)
ARGOSY_CUDA_ASKS_TWO(ARGOSY_CUDA_ASKS_TWO_KERNEL)

}  // namespace argosy::cuda
