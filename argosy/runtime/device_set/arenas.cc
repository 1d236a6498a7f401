#include "argosy/runtime/device_set/arenas.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy {

Result<Buffer> Arenas::lend(std::size_t bytes, const std::byte* last) {
  bool replaced = false;
  {
    MutexLock lock(mutex_);
    auto best = idle_.end(), largest = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (largest == idle_.end() || it->bytes() > largest->bytes()) largest = it;
      if (it->bytes() < bytes) continue;
      if (it->data() == last) {
        best = it;
        break;
      }
      if (best == idle_.end() || it->bytes() < best->bytes()) best = it;
    }
    if (best != idle_.end()) {
      Buffer arena = std::move(*best);
      idle_.erase(best);
      return arena;
    }
    if (largest != idle_.end()) {
      idle_.erase(largest);
      replaced = true;
    }
  }
  if (replaced) allocator_.trim();  // else it would keep the old one beside the new
  auto arena = allocator_.allocate(bytes);
  if (arena.ok() || arena.status().code() != Code::kResourceExhausted) return arena;
  trim();
  return allocator_.allocate(bytes);
}

void Arenas::take_back(Buffer arena) {
  // Where there is no memory to remember it, the arena is freed.
  contained("keeping an arena", [&] {
    MutexLock lock(mutex_);
    idle_.push_back(std::move(arena));
  });
}

std::size_t Arenas::idle_bytes() const {
  MutexLock lock(mutex_);
  std::size_t bytes = 0;
  for (const Buffer& arena : idle_) bytes += arena.bytes();
  return bytes;
}

void Arenas::trim() {
  std::vector<Buffer> gone;
  MutexLock lock(mutex_);
  gone.swap(idle_);
}

}  // namespace argosy
