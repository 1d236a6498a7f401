// Counts the heap memory of strings, outside their tensor's own memory, in the budget of host memory
// (argosy/base/memory/host_budget.h).
#pragma once

#include <string_view>

#include "argosy/base/memory/host_budget.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Reserves the heap memory of the strings of `t`, for as long as any tensor shares that memory. Call it after all
// strings are written; later calls do nothing. RESOURCE_EXHAUSTED (ARG-MEM-004): it does not fit; `what` begins the
// message. No effect on other dtypes and on borrowed memory.
Status reserve_strings(const Tensor& t, std::string_view what);

// Allocates a tensor in host memory, which the budget counts as `use` while it lives.
Result<Tensor> allocate_reserved(HostUse use, DType dtype, Shape shape, std::string_view what);

}  // namespace argosy
