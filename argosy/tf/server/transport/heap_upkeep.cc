#include "argosy/tf/server/transport/heap_upkeep.h"

#include <malloc.h>

namespace argosy::tf {

HeapUpkeep::Work HeapUpkeep::look(bool any_session) {
  if (any_session) {
    idle_ = 0;
    busy_ = busy_ % kBusyLooks + 1;
    return busy_ == kBusyLooks ? Work::kTrimIfUnused : Work::kNone;
  }
  busy_ = 0;
  idle_ = idle_ % kIdleLooks + 1;
  return idle_ == 1 ? Work::kTrim : Work::kNone;
}

std::size_t unused_heap_bytes() { return mallinfo2().fordblks; }

}  // namespace argosy::tf
