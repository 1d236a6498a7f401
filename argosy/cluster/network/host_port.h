// HostPort: a parsed "host:port"; and name resolution and connection attempts.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/rpc/gate/descriptor.h"

namespace argosy {

struct HostPort {
  std::string host;
  int port = 0;

  // "gpu-a:2222", "10.0.0.1:2222", "[fd00::1]:2222". INVALID_ARGUMENT "ARG-CLUSTER-030" otherwise.
  static Result<HostPort> parse(std::string_view text);
  std::string to_string() const;
  auto operator<=>(const HostPort&) const = default;
};

// The addresses of a host, IPv4 before IPv6. ARGOSY_HOST_MAP ("a=127.0.0.2,b=127.0.0.3") comes before the system's
// names. UNAVAILABLE: the resolver's error. May take seconds.
Result<std::vector<std::string>> resolve(const std::string& host);
bool is_mapped_host(const std::string& host);  // by ARGOSY_HOST_MAP

// A TCP connection; the destructor closes it.
struct TriedConnection {
  std::string local_address;  // of this host's end
  tf::Descriptor socket;
};
// Connects. UNAVAILABLE: the system's error: "connection refused", "no route to host", "no answer in 1.0 s".
Result<TriedConnection> try_connection(const std::string& address, int port, std::chrono::milliseconds timeout);

// True if `address` belongs to this host: a socket can be bound to it.
bool is_own_address(const std::string& address);

}  // namespace argosy
