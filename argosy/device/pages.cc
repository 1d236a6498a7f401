#include "argosy/device/pages.h"

#include <sys/mman.h>

#include <cstdint>

#include "argosy/base/sanitizers.h"

#if defined(ARGOSY_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace argosy {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

void* take_pages(std::size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const std::size_t reserved = huge ? bytes + kHugePage : bytes;
  if (reserved < bytes) return nullptr;
  void* base = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (!huge) return base;
  // Cut to a huge page's boundary: the kernel backs only aligned stretches with one.
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(base) % kHugePage) % kHugePage;
  std::byte* data = static_cast<std::byte*>(base) + before;
  if (before > 0) munmap(base, before);
  munmap(data + bytes, kHugePage - before);
  madvise(data, bytes, MADV_HUGEPAGE);  // refused where the kernel has none: slower, not wrong
  return data;
}

void give_pages(void* data, std::size_t bytes) { munmap(data, bytes); }

#if defined(ARGOSY_ASAN)
void poison_memory(void* data, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(data, bytes); }
void unpoison_memory(void* data, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(data, bytes); }
#else
void poison_memory(void*, std::size_t) {}
void unpoison_memory(void*, std::size_t) {}
#endif

}  // namespace argosy
