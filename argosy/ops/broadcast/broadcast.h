// Repeating a value along new or unit axes, and the arithmetic of shapes behind it.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// x repeated to this shape, by the rules of broadcasting.
Value broadcast_to(Value x, const std::vector<std::int64_t>& shape);
Value broadcast_to(Value x, Value shape);  // x repeated along axes of size 1, and along new first axes

}  // namespace argosy
