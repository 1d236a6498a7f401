// Tensors as people read them in a message. Internal to the debug family.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy {

// "[1 2][3 4]": the first `limit` values in TensorFlow's form ("…" as "..." where there are more); all when negative.
std::string first_values(const Tensor& t, std::int64_t limit);

}  // namespace argosy
