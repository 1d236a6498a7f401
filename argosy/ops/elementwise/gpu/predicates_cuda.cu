#include "argosy/ops/elementwise/gpu/functions_cuda.h"
#include "argosy/ops/elementwise/gpu/kernel_list_cuda.h"
#include "argosy/ops/elementwise/gpu/loops_cuda.h"

namespace argosy::cuda {

ARGOSY_CUDA_UNARY_PREDICATES(ARGOSY_CUDA_UNARY_PREDICATE_KERNEL)
ARGOSY_CUDA_BINARY_PREDICATES(ARGOSY_CUDA_BINARY_PREDICATE_KERNEL)

}  // namespace argosy::cuda
