#include "argosy/ops/elementwise/gpu/functions_cuda.h"
#include "argosy/ops/elementwise/gpu/kernel_list_cuda.h"
#include "argosy/ops/elementwise/gpu/loops_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_BINARY_ARITHMETIC(ARGOSY_CUDA_BINARY_KERNEL)

}  // namespace argosy::cuda
