// Copying plain bytes at the speed of memory.
#pragma once

#include <cstddef>

namespace argosy {

// Like memcpy; a large copy is split over the calling thread's budget (argosy/base/threads/parallel.h) and goes past the
// caches: its end would evict its beginning, and a store that allocates a line first reads it (half the speed at 64
// MB). REQUIRES: no overlap.
void copy_memory(void* to, const void* from, std::size_t bytes);

// Always past the caches, on this thread alone: for a piece of a large copy that others share.
void stream_memory(void* to, const void* from, std::size_t bytes);

}  // namespace argosy
