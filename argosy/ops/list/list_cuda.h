// Kernels of tensor lists, tensor arrays and stacks on GPUs: the CPU's kernels, run with the GPU's context, which tells
// them in which memory elements are (element_memory.h). Internal to those families.
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy::cuda {

// Makes the CPU's kernel for the node, to be run with the GPU's context. It is not capturable: its effects on lists
// happen on the host, and would not be part of a CUDA graph.
Result<std::unique_ptr<Kernel>> make_with_elements(const KernelInit& init);

}  // namespace argosy::cuda
