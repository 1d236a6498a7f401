// A TCP socket that listens, and whether this machine can tell whose connections come to it.
#pragma once

#include <string>

#include "argosy/base/status.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy::tf {

// Does not block. Connections send at once, and are given up when 30 seconds long nothing they sent was acknowledged.
// UNAVAILABLE: the port is taken, or the address none of this machine's.
Result<Descriptor> listening_socket(const std::string& host, int port);
int port_of(int socket);  // 0: it has none

// OK where owner_of_peer() tells that a connection of our own is ours.
Status check_owners();

}  // namespace argosy::tf
