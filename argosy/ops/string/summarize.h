// A tensor as people read it: "[[1 2 ... 9]\n [...]]", with so many elements of each axis at either end. TensorFlow's
// form.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy {

// `ends` elements at each end of an axis; negative: all.
std::string summarize(const Tensor& t, std::int64_t ends);

}  // namespace argosy
