// Elementwise ops of complex numbers.
#include "argosy/ops/elementwise/gpu/functions_complex_cuda.h"
#include "argosy/ops/elementwise/gpu/kernel_list_cuda.h"
#include "argosy/ops/elementwise/gpu/loops_cuda.h"

namespace argosy::cuda {

namespace fn = complex_fn;

ARGOSY_CUDA_COMPLEX_UNARY(ARGOSY_CUDA_UNARY_KERNEL)
ARGOSY_CUDA_COMPLEX_BINARY(ARGOSY_CUDA_BINARY_KERNEL)
ARGOSY_CUDA_COMPLEX_PREDICATES(ARGOSY_CUDA_BINARY_PREDICATE_KERNEL)

}  // namespace argosy::cuda
