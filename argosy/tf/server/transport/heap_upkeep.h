// HeapUpkeep: when a server gives free pages of its heap back to the system.
//
// A large request pays a page fault for every 4 KiB that went back before. So it happens seldom:
//
// * no session: at the first look, then every 5 s;
// * sessions: every 30 s, where more than 64 MiB of the heap are unused. A burst leaves that behind.
#pragma once

#include <cstddef>

namespace argosy::tf {

class HeapUpkeep {
 public:
  static constexpr int kLooksASecond = 2;
  static constexpr std::size_t kUnusedBytes = 64 << 20;

  // What is to be done at this look. Called kLooksASecond times a second, by one thread.
  enum class Work { kNone, kTrim, kTrimIfUnused };
  Work look(bool any_session);

 private:
  static constexpr int kIdleLooks = 5 * kLooksASecond, kBusyLooks = 30 * kLooksASecond;
  int idle_ = 0, busy_ = 0;  // looks in a row
};

// Bytes of the process's heap that are free and not given back. Takes the locks of the heap for a moment.
std::size_t unused_heap_bytes();

}  // namespace argosy::tf
