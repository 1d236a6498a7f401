// Sums of products over named axes.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// einsum("bij,bjk->bik", {x, y}): one letter an axis; a letter missing from the output is summed over; "..." stands for
// axes that broadcast. One or two inputs; the output is always written out.
Value einsum(std::string_view equation, const std::vector<Value>& inputs);

}  // namespace argosy
