// HeapUpkeep: decides when a server returns free pages of its heap to the system (malloc_trim).
//
// Returned pages cost a later request a page fault for every 4 KiB. So it happens rarely:
//
// * without sessions: at the first look, then every 5 s;
// * with sessions: every 30 s, if more than 64 MiB of the heap are unused, as after a burst.
#pragma once

#include <cstddef>

namespace argosy::tf {

class HeapUpkeep {
 public:
  static constexpr int kLooksASecond = 2;
  static constexpr std::size_t kUnusedBytes = 64 << 20;

  // Returns what to do now. To be called kLooksASecond times a second, by one thread.
  enum class Work { kNone, kTrim, kTrimIfUnused };
  Work look(bool any_session);

 private:
  static constexpr int kIdleLooks = 5 * kLooksASecond, kBusyLooks = 30 * kLooksASecond;
  int idle_ = 0, busy_ = 0;  // looks in a row
};

// Returns the bytes of the process's heap that are free and not returned to the system. Briefly takes the heap's locks.
std::size_t unused_heap_bytes();

}  // namespace argosy::tf
