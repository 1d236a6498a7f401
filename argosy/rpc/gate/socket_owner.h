// Finds the user that owns the other end of a local TCP connection.
#pragma once

#include <sys/types.h>

#include "argosy/base/status.h"

namespace argosy::tf {

// Returns the user that created the socket at the other end of `connection`, an accepted TCP socket. Asks the kernel by
// netlink (sock_diag).
// NOT_FOUND: no open socket of this network namespace is the other end. It is on another machine, or it is closed.
// UNAVAILABLE: the kernel does not answer.
Result<uid_t> owner_of_peer(int connection);

}  // namespace argosy::tf
