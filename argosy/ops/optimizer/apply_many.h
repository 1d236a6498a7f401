// Several dense updates by one rule with the same scalars as one op: _ApplyMany (reference variables) and
// _ResourceApplyMany. The pass fuse_updates makes them. On the CPU every variable is updated by the kernel of its own
// op, and the variables are distributed over the threads; on a GPU one launch updates many.
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// The positions of an update op's inputs, by role. The variables come first.
struct ApplyParts {
  int variables = 0;
  int gradient = -1;
  std::vector<int> scalars;
};
// nullopt: the op is not a dense optimizer update, or it has other inputs, such as a global step.
std::optional<ApplyParts> apply_parts(const OpDef& op);

}  // namespace argosy
