#include "argosy/base/memory/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace argosy {

void prefer_huge_pages(void* data, std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{4} << 20;
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  if (bytes < kLeast) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHugePage * kHugePage;
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // refused: slower, not wrong
}

}  // namespace argosy
