// Kernels of lists, arrays and stacks on GPUs: the CPU's, which ask their context where elements lie
// (element_memory.h). Internal to those families.
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy::cuda {

// The CPU's kernel for the node, with the GPU's context. What it does to lists is done anew in every run.
Result<std::unique_ptr<Kernel>> make_with_elements(const KernelInit& init);

}  // namespace argosy::cuda
