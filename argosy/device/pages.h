// Memory pages from the operating system. Sizes are those given to take_pages(). Thread-safe.
#pragma once

#include <cstddef>

namespace argosy {

// Zero-filled; the system backs a page when it is first touched. Huge pages where the size allows. Null: the system
// refused.
void* take_pages(std::size_t bytes);
// Returns pages. REQUIRES: no byte is poisoned.
void give_pages(void* data, std::size_t bytes);

// Marks memory that no buffer owns as poisoned or usable, for AddressSanitizer. No effect in other builds.
void poison_memory(void* data, std::size_t bytes);
void unpoison_memory(void* data, std::size_t bytes);

}  // namespace argosy
