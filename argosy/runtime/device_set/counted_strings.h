// Counts the strings that kernels give in the budget of host memory (argosy/tensor/string_budget.h).
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// A kernel with string outputs is wrapped: its strings are counted when it has run, and those that do not fit are its
// error. Ops that copy strings many times (string_estimates.h) are refused before they run.
// Any other kernel is returned as it is.
std::unique_ptr<Kernel> count_strings(std::unique_ptr<Kernel> kernel, const KernelInit& init);

}  // namespace argosy
