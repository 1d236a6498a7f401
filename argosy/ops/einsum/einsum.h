// Sums of products over named axes.
#pragma once

#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// einsum("bij,bjk->bik", {x, y}): each letter names an axis; letters that the output lacks are summed over; "..."
// stands for axes that broadcast. One or two inputs. The equation must have an output.
Value einsum(std::string_view equation, const std::vector<Value>& inputs);

}  // namespace argosy
