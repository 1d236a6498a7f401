// Many dense updates of one kind, with the same numbers, as one op: _ApplyMany (of reference variables) and
// _ResourceApplyMany, made by the pass fuse_updates. Every variable is updated by the kernel of its own op; threads
// share the variables out.
#pragma once

#include <optional>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy {

// Which inputs of an update op are what, by position. The variables come first.
struct ApplyParts {
  int variables = 0;
  int gradient = -1;
  std::vector<int> scalars;
};
// Nothing for ops that are no dense update of the optimizers' kind.
std::optional<ApplyParts> apply_parts(const OpDef& op);

}  // namespace argosy
