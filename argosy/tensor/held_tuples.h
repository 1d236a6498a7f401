// Counts tuples of tensors that a buffer holds (a queue, a dataset that keeps elements) in the budget of host memory.
#pragma once

#include "argosy/base/memory/held_items.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// By their handles and small blocks of memory: what fills a host with many small elements. Large tensors are counted by
// their allocator, and may be shared. `what` begins the error, and outlives the result.
inline HeldItems held_tuples(std::size_t components, const char* what) {
  constexpr std::size_t kBlock = 160;  // bytes: a tensor's memory with its owner
  return HeldItems(HostUse::kBuffers, static_cast<std::int64_t>(64 + components * (sizeof(Tensor) + kBlock)), what);
}

}  // namespace argosy
