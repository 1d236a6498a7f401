// The pipeline of passes between a step's own graph and its placement: lowering functional control flow, folding
// constants, merging equal nodes, fusing. Each pass lives in a file of its own and may be switched off.
#pragma once

#include "argosy/passes/extract.h"

namespace argosy {

struct PrepareOptions {
  bool optimize = true;  // false: only what the executor needs (lowering)
};

Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options);

}  // namespace argosy
