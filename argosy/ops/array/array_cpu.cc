#include "argosy/ops/array/array_registration.h"

namespace argosy {

void add_kernels_cpu_array(KernelRegistry& kernels) {
  add_array_copies(kernels);
  add_array_combinations(kernels);
  add_data_formats(kernels);
  add_array_searches(kernels);
  add_array_assignments(kernels);
  add_bit_masks(kernels);
  add_isotonic(kernels);
}

}  // namespace argosy
