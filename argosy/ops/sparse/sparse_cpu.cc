#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy {

void add_kernels_cpu_sparse(KernelRegistry& kernels) {
  sparse::add_kernels_cpu_form(kernels);
  sparse::add_kernels_cpu_math(kernels);
  sparse::add_kernels_cpu_reduce(kernels);
  sparse::add_kernels_cpu_segment(kernels);
  sparse::add_kernels_cpu_serial(kernels);
  sparse::add_kernels_cpu_cross(kernels);
}

}  // namespace argosy
