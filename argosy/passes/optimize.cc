#include "argosy/passes/optimize.h"

#include "argosy/passes/fold.h"
#include "argosy/passes/merge_equal.h"

namespace argosy {

Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options) {
  if (!options.optimize) return step;
  int changed = 0;
  ARGOSY_ASSIGN_OR_RETURN(const int folded, fold_constants(step));
  changed += folded;
  ARGOSY_ASSIGN_OR_RETURN(const int merged, merge_equal_nodes(step));
  changed += merged;
  return changed > 0 ? without_dead_nodes(step) : Result<StepGraph>(std::move(step));
}

}  // namespace argosy
