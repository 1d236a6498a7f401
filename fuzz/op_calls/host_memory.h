// What operator new gives, counted: how much of it lives, and an allocation that is too big refused and remembered.
// Linked into a program, it replaces the global operators.
#pragma once

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
  // The n-th allocation from now (1: the next), of any thread, throws; 0: none.
  static void fail_at(std::uint64_t n);
  static bool failed();
};

}  // namespace argosy::op_calls
