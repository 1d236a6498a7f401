// The error of tasks that do not ask for one collective. Internal to comm/net.
#pragma once

#include "argosy/base/status.h"

namespace argosy {

// INVALID_ARGUMENT ARG-COMM-001: all tasks get it, and the group goes on.
template <typename... Parts>
Status wrong(const Parts&... parts) {
  return invalid_argument(parts...).with_id("ARG-COMM-001");
}

}  // namespace argosy
