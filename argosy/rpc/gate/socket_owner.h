// Whose socket is at the other end of a connection within this machine.
#pragma once

#include <sys/types.h>

#include "argosy/base/status.h"

namespace argosy::tf {

// The user that made the socket at the other end of `connection`, an accepted TCP socket.
// NOT_FOUND: no open socket of this network namespace is the other end. It is on another machine, or it is closed.
// UNAVAILABLE: the kernel does not answer.
Result<uid_t> owner_of_peer(int connection);

}  // namespace argosy::tf
