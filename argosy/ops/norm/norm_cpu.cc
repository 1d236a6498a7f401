#include "argosy/ops/norm/norm_registration.h"

namespace argosy {

void add_kernels_cpu_norm(KernelRegistry& kernels) {
  add_kernels_cpu_batch_norm(kernels);
  add_kernels_cpu_batch_norm_gradient(kernels);
  add_kernels_cpu_layer_norm(kernels);
  add_kernels_cpu_lrn(kernels);
  add_kernels_cpu_global_norm(kernels);
}

}  // namespace argosy
