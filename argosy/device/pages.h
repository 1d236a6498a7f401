// Pages straight from the system. Sizes are those given to take_pages().
#pragma once

#include <cstddef>

namespace argosy {

// Zero-filled, backed by memory only where touched; huge pages where the size allows. Null when the system refuses.
void* take_pages(std::size_t bytes);
// REQUIRES: nothing in it is poisoned.
void give_pages(void* data, std::size_t bytes);

// Under AddressSanitizer marks memory that no buffer owns; nothing otherwise.
void poison_memory(void* data, std::size_t bytes);
void unpoison_memory(void* data, std::size_t bytes);

}  // namespace argosy
