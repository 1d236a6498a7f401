// A tensor as people read it: "[[1 2 ... 9]\n [...]]", with so many elements of each axis at either end. TensorFlow's
// form.
#pragma once

#include <string>

#include "argosy/ops/string/made_strings.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Appends it to `to`. `ends` elements at each end of an axis; negative: all.
Status summarize(const Tensor& t, std::int64_t ends, MadeStrings& made, std::string& to);

}  // namespace argosy
