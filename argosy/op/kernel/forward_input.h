// forward_input(): makes an input the output, for ops that do so only in some cases: a cast to the same dtype, a sum of
// one.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// As c.set_output(i, tensor), but copies a tensor that borrows its memory. The memory plan of a step expects aliases
// only from OpDef::forwards. It may reuse the memory of any other input for another value.
Status forward_input(KernelContext& c, int i, Tensor tensor);

}  // namespace argosy
