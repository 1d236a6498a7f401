// Fake quantisation, for quantisation-aware training: rounds numbers to few levels, and keeps them as floats.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// x clamped to [min, max], shifted a little so that 0 is a level, and rounded to 2^num_bits levels (one less where
// `narrow_range`). min and max: scalars, or one number per channel (the last axis).
Value fake_quant(Value x, Value min, Value max, int num_bits = 8, bool narrow_range = false);

}  // namespace argosy
