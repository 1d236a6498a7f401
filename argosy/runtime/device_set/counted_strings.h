// Counts the string outputs of kernels in the budget of host memory (argosy/tensor/string_budget.h).
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// Wraps a kernel with string outputs: its strings are counted when it has run, and it fails if they exceed the budget.
// An op that copies strings many times (string_estimates.h) is refused before it runs. Any other kernel is returned as
// it is.
std::unique_ptr<Kernel> count_strings(std::unique_ptr<Kernel> kernel, const KernelInit& init);

}  // namespace argosy
