#include "argosy/runtime/machine/arenas.h"

#include <algorithm>

#include "argosy/base/guard.h"

namespace argosy {

Result<Buffer> Arenas::lend(std::size_t bytes, const std::byte* last) {
  bool replaced = false;
  {
    MutexLock lock(mutex_);
    auto best = resting_.end(), largest = resting_.end();
    for (auto it = resting_.begin(); it != resting_.end(); ++it) {
      if (largest == resting_.end() || it->bytes() > largest->bytes()) largest = it;
      if (it->bytes() < bytes) continue;
      if (it->data() == last) {
        best = it;
        break;
      }
      if (best == resting_.end() || it->bytes() < best->bytes()) best = it;
    }
    if (best != resting_.end()) {
      Buffer arena = std::move(*best);
      resting_.erase(best);
      return arena;
    }
    if (largest != resting_.end()) {
      resting_.erase(largest);
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
  // Where there is no memory to remember it, it goes.
  contained("keeping an arena", [&] {
    MutexLock lock(mutex_);
    resting_.push_back(std::move(arena));
  });
}

std::size_t Arenas::resting_bytes() const {
  MutexLock lock(mutex_);
  std::size_t bytes = 0;
  for (const Buffer& arena : resting_) bytes += arena.bytes();
  return bytes;
}

void Arenas::trim() {
  std::vector<Buffer> gone;
  MutexLock lock(mutex_);
  gone.swap(resting_);
}

}  // namespace argosy
