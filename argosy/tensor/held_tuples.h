// Counts tuples of tensors that a buffer holds (a queue, a dataset that keeps elements) in the budget of host memory.
#pragma once

#include "argosy/base/memory/held_items.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Returns a HeldItems for tuples of this many components. It counts the tensors' handles and small blocks of memory.
// The allocator counts large tensors, which may be shared. `what` begins the error message, and must outlive the
// result.
inline HeldItems held_tuples(std::size_t components, const char* what) {
  constexpr std::size_t kBlock = 160;  // bytes: a tensor's memory with its owner
  return HeldItems(HostUse::kBuffers, static_cast<std::int64_t>(64 + components * (sizeof(Tensor) + kBlock)), what);
}

}  // namespace argosy
