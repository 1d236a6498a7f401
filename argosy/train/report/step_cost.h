// What a training step has to compute and move, by its ops' own cost functions: the numerator of every "of the limit".
#pragma once

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// Of all devices together, for a global batch of this size. Ops whose shapes are only known while running count as one
// element per unknown size.
Result<Cost> step_cost(CompiledModel& program, std::int64_t batch);

}  // namespace argosy
