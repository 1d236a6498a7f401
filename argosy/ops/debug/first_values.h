// Formats tensors for messages. Internal to the debug family.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy {

// Returns the first `limit` values in TensorFlow's form, "[1 2][3 4]", with "..." if there are more. A negative limit:
// all values.
std::string first_values(const Tensor& t, std::int64_t limit);

}  // namespace argosy
