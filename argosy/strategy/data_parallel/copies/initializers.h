// Writes of variables from outside the step.
#pragma once

#include "argosy/strategy/data_parallel/copies/replica_build.h"

namespace argosy {

// Writes of a mirrored variable from outside the step (initialiser, restore) write every mirror.
Status mirror_initializers(ReplicaBuild& b);

}  // namespace argosy
