// The errors of tasks that do not ask for one collective, and of what a task sent and none of ours would send. Internal to
// comm/net.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// INVALID_ARGUMENT ARG-COMM-001: all tasks get it, and the group goes on.
template <typename... Parts>
Status wrong(const Parts&... parts) {
  return invalid_argument(parts...).with_id("ARG-COMM-001");
}

// DATA_LOSS ARG-COMM-029: it ends the group.
template <typename... Parts>
Status unreadable(const Parts&... parts) {
  return data_loss(parts...).with_id("ARG-COMM-029").with_hint("the same version on every host; argosy cluster check");
}

}  // namespace argosy
