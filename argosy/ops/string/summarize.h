// summarize(): a tensor as text, in TensorFlow's form: "[[1 2 ... 9]\n [...]]".
#pragma once

#include <string>

#include "argosy/ops/string/made_strings.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Appends the text to `to`, with `ends` elements at each end of an axis; negative: all elements.
Status summarize(const Tensor& t, std::int64_t ends, MadeStrings& made, std::string& to);

}  // namespace argosy
