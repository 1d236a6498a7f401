// What the shape argument of Reshape means for a given number of elements.
#pragma once

#include "argosy/base/status.h"
#include "argosy/tensor/ints.h"

namespace argosy {

// Replaces one -1 in `sizes` by what makes them hold `elements`. INVALID_ARGUMENT when they cannot.
Status complete_reshape(std::int64_t elements, Ints& sizes);

}  // namespace argosy
