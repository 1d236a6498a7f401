#include "argosy/passes/optimize.h"

#include "argosy/passes/fold.h"
#include "argosy/passes/fuse_bias.h"
#include "argosy/passes/merge_equal.h"

namespace argosy {

Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options) {
  if (!options.optimize) return step;
  ARGOSY_ASSIGN_OR_RETURN(int changed, fold_constants(step));
  ARGOSY_ASSIGN_OR_RETURN(const int merged, merge_equal_nodes(step));
  changed += merged;
  // Fusion asks who else reads a value: what is dead must be gone.
  if (changed > 0) {
    ARGOSY_ASSIGN_OR_RETURN(step, without_dead_nodes(step));
  }
  ARGOSY_ASSIGN_OR_RETURN(changed, fuse_bias(step));
  return changed > 0 ? without_dead_nodes(step) : Result<StepGraph>(std::move(step));
}

}  // namespace argosy
