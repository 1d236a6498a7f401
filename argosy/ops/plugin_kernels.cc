// Part of the CUDA plug-in alone, there in the place of kernels_cpu.cc. The CPU's kernels are the program's: a list of
// the plug-in's own would bring the whole library, its messages' descriptors among it, into the process a second time.
// The first device set that takes the plug-in's kernels hands them over.
#include "argosy/device/cuda/kernels/kernels.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/ops.h"

namespace argosy {

namespace {

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
