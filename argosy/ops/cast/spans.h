// Casts of contiguous elements, for kernels that convert as they read or write.
#pragma once

#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

// Returns the cast of contiguous elements from one dtype to another; null if there is none. REQUIRES: from != to.
UnarySpan find_cast_span(DType from, DType to);

}  // namespace argosy
