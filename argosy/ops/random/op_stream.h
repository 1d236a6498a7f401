// What a random op draws from: a stream that it keeps between its runs (argosy/op/state/session_op_state.h).
#pragma once

#include <memory>
#include <utility>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// Of the node that the kernel is made for, or whose shard it draws (attribute "stream"), by its attributes "seed" and
// "seed2"; outside a session its own. Thread-safe.
Result<std::shared_ptr<SharedPhilox>> op_stream(const KernelInit& init);

// A kernel K(init, stream) that draws from it.
template <typename K>
Result<std::unique_ptr<Kernel>> make_with_stream(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<SharedPhilox> stream, op_stream(init));
  return std::unique_ptr<Kernel>(std::make_unique<K>(init, std::move(stream)));
}

}  // namespace argosy
