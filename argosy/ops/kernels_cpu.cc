#include "argosy/ops/ops.h"

namespace argosy {

#define OP_FAMILY(family) void add_kernels_cpu_##family(KernelRegistry&);
#include "argosy/ops/families.inc"
#undef OP_FAMILY

const KernelRegistry& cpu_kernels() {
  static const KernelRegistry* const kernels = [] {
    auto* all = new KernelRegistry;
#define OP_FAMILY(family) add_kernels_cpu_##family(*all);
#include "argosy/ops/families.inc"
#undef OP_FAMILY
    return all;
  }();
  return *kernels;
}

}  // namespace argosy
