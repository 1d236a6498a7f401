// Whose socket is at the other end of a connection within this machine.
#pragma once

#include <sys/types.h>

#include "argosy/base/status.h"

namespace argosy::tf {

// The user that made the socket which `connection`, an accepted TCP socket, is connected to. NOT_FOUND where no open
// socket of this network namespace is the other end: it is on another machine, or its owner has closed it already
// (who it was cannot be told any more). UNAVAILABLE: the kernel does not answer.
Result<uid_t> owner_of_peer(int connection);

}  // namespace argosy::tf
