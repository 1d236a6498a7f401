// Linked into the CUDA plug-in instead of kernels_cpu.cc: cpu_kernels() there returns the kernels of the program. A
// list of the plug-in's own would link a second copy of the library, which registers protobuf descriptors twice.
//
// The first call of add_plugin_kernels() sets them, for good. It comes before any call of cpu_kernels() in the plug-in.
#include "argosy/device/cuda/kernels/kernels.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/ops.h"

namespace argosy {

namespace {

// The first call sets the registry that all calls return.
const KernelRegistry& kernels_of_program(const KernelRegistry* first = nullptr) {
  static const KernelRegistry kernels = first != nullptr ? *first : KernelRegistry();
  return kernels;
}

}  // namespace

const KernelRegistry& cpu_kernels() { return kernels_of_program(); }

void add_plugin_kernels(KernelRegistry& kernels) {
  kernels_of_program(&kernels);
  add_cuda_kernels(kernels);
}

}  // namespace argosy
