// Choosing between values, element by element.
#pragma once

#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

// x where the condition holds, y elsewhere; all three broadcast together (tf.where with three arguments).
Value where(Value condition, Operand x, Operand y);
// x held within [low, high].
Value clip_by_value(Value x, Operand low, Operand high);

}  // namespace argosy
