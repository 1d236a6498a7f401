// Copies plain bytes at the speed of memory. Thread-safe.
#pragma once

#include <cstddef>

namespace argosy {

// Like memcpy, on the calling thread's budget (argosy/base/threads/parallel.h). A large copy uses several threads and
// streaming stores, which bypass the caches. Otherwise the end of the copy would evict its beginning, and each store
// would first read its cache line (half the speed at 64 MB). REQUIRES: no overlap.
void copy_memory(void* to, const void* from, std::size_t bytes);

// Streaming stores on the calling thread alone: for one piece of a large copy that several threads share.
void stream_memory(void* to, const void* from, std::size_t bytes);

}  // namespace argosy
