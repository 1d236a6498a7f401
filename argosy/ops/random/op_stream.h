// What a random op draws from: one stream for all steps of a session. It goes on whatever the op is run together with
// and in whatever shapes, as TensorFlow's does, whose sessions keep such ops' kernels.
#pragma once

#include <memory>

#include "argosy/op/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// Of the node that the kernel is made for, by its attributes "seed" and "seed2"; outside a session its own.
// Thread-safe.
std::shared_ptr<SharedPhilox> op_stream(const KernelInit& init);

}  // namespace argosy
