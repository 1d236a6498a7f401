// Strings that kernels give, counted in the budget of host memory (argosy/tensor/string_budget.h).
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// `kernel`, whose strings are counted when it is done, if any of the outputs are strings; else itself. What does not
// fit is the kernel's error.
std::unique_ptr<Kernel> count_strings(std::unique_ptr<Kernel> kernel, const KernelInit& init);

}  // namespace argosy
