// What a random op draws from: a stream that it keeps between its runs (argosy/op/state/session_op_state.h).
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// Of the node that the kernel is made for, or whose shard it draws (attribute "stream"), by its attributes "seed" and
// "seed2"; outside a session its own. Thread-safe.
std::shared_ptr<SharedPhilox> op_stream(const KernelInit& init);

}  // namespace argosy
