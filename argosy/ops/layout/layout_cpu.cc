#include "argosy/ops/layout/layout_parts.h"

namespace argosy {

void add_kernels_cpu_layout(KernelRegistry& kernels) {
  add_transposes(kernels);
  add_joins(kernels);
  add_slices(kernels);
  add_pads(kernels);
  add_repeats(kernels);
  add_blocks(kernels);
  add_diagonals(kernels);
}

}  // namespace argosy
