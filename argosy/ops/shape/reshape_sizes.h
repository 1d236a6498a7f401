// complete_reshape(): resolves the shape argument of Reshape for a given input.
#pragma once

#include "argosy/base/status.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// Replaces the -1 in `sizes`, if there is one, so that the number of elements equals that of `from`. INVALID_ARGUMENT:
// it cannot.
Status complete_reshape(const Shape& from, Ints& sizes);

}  // namespace argosy
