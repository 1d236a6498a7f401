// An input forwarded as an output, by an op that only sometimes does so: a cast to the same dtype, a sum of one.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// As c.set_output(i, tensor), but a tensor that only borrows its memory is copied. The memory plan of a step knows only
// the outputs of OpDef::forwards to be views. It may give the memory of any other input to another value.
Status forward_input(KernelContext& c, int i, Tensor tensor);

}  // namespace argosy
