#include "fuzz/op_calls/shared_progress.h"

#include <sys/mman.h>

#include <cctype>
#include <new>

#include "argosy/base/check.h"

namespace argosy::op_calls {

void SharedProgress::note_message(int which, const std::string& message) {
  std::uint64_t h = 1469598103934665603u + static_cast<std::uint64_t>(which);
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'' || c == '"') quoted = !quoted;
    if (quoted || std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '?' || c == ',') continue;
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  if (h == 0) h = 1;
  for (int i = 0; i < 64; ++i) {
    auto& slot = messages[(h + static_cast<std::uint64_t>(i)) % kMostMessages];
    std::uint64_t now = slot.load(std::memory_order_relaxed);
    if (now == h) return;
    if (now != 0) continue;
    slot.store(h, std::memory_order_relaxed);
    distinct.fetch_add(1);
    return;
  }
}

SharedProgress& new_shared_progress() {
  void* const memory = mmap(nullptr, sizeof(SharedProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ARGOSY_CHECK(memory != MAP_FAILED);
  return *new (memory) SharedProgress;
}

}  // namespace argosy::op_calls
