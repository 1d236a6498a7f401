// The random numbers of an op: a Philox generator that the session keeps between runs (argosy/op/state/session_op_state.h).
#pragma once

#include <memory>
#include <utility>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// Returns the generator of the kernel's node. The attribute "stream" may name another node, whose generator is shared
// then: a shard of its draw is made here. Its seeds are the attributes "seed" and "seed2". Outside of a session each
// kernel has a generator of its own. Thread-safe.
Result<std::shared_ptr<SharedPhilox>> op_stream(const KernelInit& init);

// Makes a kernel K(init, generator).
template <typename K>
Result<std::unique_ptr<Kernel>> make_with_stream(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<SharedPhilox> stream, op_stream(init));
  return std::unique_ptr<Kernel>(std::make_unique<K>(init, std::move(stream)));
}

}  // namespace argosy
