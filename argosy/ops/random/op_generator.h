// The random numbers of an op: a Philox generator that the session keeps between runs
// (argosy/op/state/session_op_state.h).
#pragma once

#include <memory>
#include <utility>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/random/philox.h"

namespace argosy {

// Returns the generator of the kernel's node, seeded by the attributes "seed" and "seed2". Where the attribute "stream"
// names another node, it is that node's: the kernel draws a shard of that node's numbers. Outside of a session each
// kernel has a generator of its own. Thread-safe.
Result<std::shared_ptr<SharedPhilox>> op_generator(const KernelInit& init);

// Makes a kernel K(init, generator).
template <typename K>
Result<std::unique_ptr<Kernel>> make_with_generator(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<SharedPhilox> stream, op_generator(init));
  return std::unique_ptr<Kernel>(std::make_unique<K>(init, std::move(stream)));
}

}  // namespace argosy
