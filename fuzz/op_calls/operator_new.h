// Counts what operator new allocates: how much is live. Refuses and remembers an allocation that is too big.
// Linked into a program, it replaces the global operators.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace argosy::op_calls {

struct HostMemory {
  static std::int64_t live_bytes();
  static std::uint64_t allocations();
  // The biggest request refused since the last call of this; 0: none.
  static std::size_t take_refused();
  // Requests above this, or that would make more live than four times as much, throw std::bad_alloc. 0: none.
  static void limit(std::size_t bytes);
  // The n-th allocation from now (1: the next), of any thread, throws, and `more` after it; n = 0: none. True: one has
  // failed since the call before.
  static bool fail_at(std::uint64_t n, std::uint64_t more = 0);

  // Where the first of them was made: return addresses, innermost first.
  struct Where {
    static constexpr int kMost = 48;
    std::atomic<int> size{0};
    void* frames[kMost] = {};
  };
  // From now on written there (memory that outlives the process, perhaps). Null: nowhere.
  static void note_where(Where* where);
};

}  // namespace argosy::op_calls
