// makes_handle(): nodes whose output names a variable or another resource.
#pragma once

#include "argosy/graph/node.h"

namespace argosy {

// True for VarHandleOp, VariableV2, FIFOQueueV2 and the like. Their output is known when a step is compiled.
inline bool makes_handle(const Node& n) {
  return n.op->stateful && n.inputs.empty() && n.output_dtypes.size() == 1 &&
         (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
}

}  // namespace argosy
