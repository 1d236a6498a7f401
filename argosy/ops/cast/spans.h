// Conversion of neighbouring elements, for kernels that convert on the way.
#pragma once

#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

// Null when there is no such cast. REQUIRES: two dtypes that differ.
UnarySpan find_cast_span(DType from, DType to);

}  // namespace argosy
