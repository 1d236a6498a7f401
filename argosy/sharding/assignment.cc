#include "argosy/sharding/assignment.h"

namespace argosy {

bool may_be_own(std::span<const Placement> inputs, int input) {
  bool meets_rows = false;
  for (int i = 0; i < std::ssize(inputs); ++i) {
    const Placement& p = inputs[static_cast<std::size_t>(i)];
    if (i != input && p.is_local()) return true;
    meets_rows = meets_rows || (i != input && p.is_shard());
  }
  return !meets_rows;
}

}  // namespace argosy
