// An input forwarded as an output, by an op that only sometimes does so: a cast to the same dtype, a sum of one.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// As c.set_output(i, tensor), but what only borrows its memory is copied: a step's plan, which does not know that the
// output shows the input (OpDef::forwards says of which it does), gives that memory to others.
Status forward_input(KernelContext& c, int i, Tensor tensor);

}  // namespace argosy
