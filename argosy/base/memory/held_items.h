// HeldItems: counts the host memory of a growing buffer (elements of a dataset, of a queue) in the budget of host
// memory. An item has a fixed estimate, for its handles and small blocks. The allocator counts large tensors.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "argosy/base/memory/host_budget.h"

namespace argosy {

// Not synchronised. Movable.
class HeldItems {
 public:
  // `bytes_each`: at least 1. `what` begins the error ("a shuffle's buffer"), and outlives this object.
  HeldItems(HostUse use, std::int64_t bytes_each, const char* what) : use_(use), bytes_each_(bytes_each), what_(what) {}

  // Sets the number of items that the buffer holds, or is about to hold. RESOURCE_EXHAUSTED (ARG-MEM-004): they do not
  // fit, and the reservation stays as it was. Grows by doubling if there is room, so most calls only compare two
  // numbers.
  Status hold(std::int64_t count) { return count <= reserved_ && count >= low_ ? ok_status() : change(count); }

 private:
  Status change(std::int64_t count);
  void update_low();

  HostUse use_;
  std::int64_t bytes_each_;
  const char* what_;
  std::int64_t reserved_ = 0;                                             // items
  std::int64_t low_ = 0;                                                  // a count below it releases the last piece
  std::vector<std::pair<std::int64_t, HostBudget::Reservation>> pieces_;  // (items, their bytes)
};

}  // namespace argosy
