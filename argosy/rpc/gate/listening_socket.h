// Opens a listening TCP socket, and checks whether the owners of local connections can be found out on this machine.
#pragma once

#include <string>

#include "argosy/base/status.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy::tf {

// Returns a non-blocking listening socket. Its connections inherit TCP_NODELAY and a TCP user timeout of 30 s.
// UNAVAILABLE: the port is taken, or the address is not this machine's.
Result<Descriptor> listening_socket(const std::string& host, int port);
int port_of(int socket);  // the local port; 0: it has none

// Tests owner_of_peer() with a loopback connection of this process. UNAVAILABLE "ARG-RPC-008": it does not find our
// user.
Status check_owners();

}  // namespace argosy::tf
