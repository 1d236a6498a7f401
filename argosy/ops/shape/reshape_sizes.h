// What the shape argument of Reshape means for a given input.
#pragma once

#include "argosy/base/status.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// Replaces one -1 in `sizes` by what makes them hold the elements of `from`. INVALID_ARGUMENT when they cannot.
Status complete_reshape(const Shape& from, Ints& sizes);

}  // namespace argosy
