#include "argosy/passes/optimize.h"

namespace argosy {

Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions&) { return step; }

}  // namespace argosy
