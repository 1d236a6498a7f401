// The errors of two cases: the tasks' calls of a collective differ, or a task sent malformed data. Internal to
// argosy/comm/net.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// The calls differ: INVALID_ARGUMENT ARG-COMM-001. All tasks get it, and the group stays usable.
template <typename... Parts>
Status wrong(const Parts&... parts) {
  return invalid_argument(parts...).with_id("ARG-COMM-001");
}

// Malformed data: DATA_LOSS ARG-COMM-029. It ends the group.
template <typename... Parts>
Status unreadable(const Parts&... parts) {
  return data_loss(parts...).with_id("ARG-COMM-029").with_hint("the same version on every host; argosy cluster check");
}

}  // namespace argosy
