// What strings hold beside the memory of their tensor, in the budget of host memory (argosy/base/memory/host_budget.h).
#pragma once

#include <string_view>

#include "argosy/base/memory/host_budget.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Reserves what the strings of `t` take on the heap, for as long as its memory lives, whoever shares it. It does so
// once, the first time it is asked for, when all strings are written. RESOURCE_EXHAUSTED "ARG-MEM-004" where that does
// not fit: `what` begins the message. Does nothing for other dtypes and for memory that the tensor only borrows.
Status reserve_strings(const Tensor& t, std::string_view what);

// A tensor in the host's memory that is counted in the budget while it lives.
Result<Tensor> allocate_reserved(HostUse use, DType dtype, Shape shape, std::string_view what);

}  // namespace argosy
