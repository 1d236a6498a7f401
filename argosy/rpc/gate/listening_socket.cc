#include "argosy/rpc/gate/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "argosy/base/str.h"
#include "argosy/rpc/gate/peer_address.h"
#include "argosy/rpc/gate/socket_owner.h"

namespace argosy::tf {

namespace {

constexpr int kBacklog = 1024;
constexpr int kUserTimeoutMillis = 30'000;

}  // namespace

Result<Descriptor> listening_socket(const std::string& host, int port) {
  const auto failed = [&] {
    return unavailable("cannot listen at ", host, ":", port,
                       ": the port is taken, or the address is none of this machine's (", std::strerror(errno), ")")
        .with_id("ARG-RPC-005")
        .with_hint("another port, or 0 for any free one");
  };
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string name = host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
  errno = EADDRNOTAVAIL;
  if (::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return failed();
  Descriptor socket;
  for (const addrinfo* at = found; at != nullptr && socket.get() < 0; at = at->ai_next) {
    Descriptor one(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    const int yes = 1, no = 0;
    (void)::setsockopt(one.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->ai_family == AF_INET6) (void)::setsockopt(one.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    // Connections have these from their listener.
    (void)::setsockopt(one.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)::setsockopt(one.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMillis, sizeof kUserTimeoutMillis);
    if (::bind(one.get(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(one.get(), kBacklog) == 0) {
      socket = std::move(one);
    }
  }
  ::freeaddrinfo(found);
  if (socket.get() < 0) return failed();
  return socket;
}

int port_of(int socket) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &bytes) != 0) return 0;
  const auto address = to_address(reinterpret_cast<const sockaddr*>(&own));
  return address ? address->port : 0;
}

Status check_owners() {
  const auto unknown = [](std::string_view why) {
    return unavailable("whose connections these are cannot be told on this machine: ", why)
        .with_id("ARG-RPC-008")
        .with_hint("--any-local-user lets every user of this machine in");
  };
  ARGOSY_ASSIGN_OR_RETURN(const Descriptor listener, listening_socket("127.0.0.1", 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(port_of(listener.get())));
  const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return unknown(std::strerror(errno));
  const int own_port = port_of(client.get());
  for (int tries = 0; tries < 100; ++tries) {  // others may have found the port
    sockaddr_storage from{};
    socklen_t bytes = sizeof from;
    const Descriptor one(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_CLOEXEC));
    if (one.get() < 0) break;
    const auto peer = to_address(reinterpret_cast<const sockaddr*>(&from));
    if (!peer || peer->port != own_port) continue;
    const auto owner = owner_of_peer(one.get());
    if (!owner.ok()) return unknown(owner.status().message());
    return *owner == ::geteuid() ? ok_status() : unknown(str_cat("our own seems to be user ", *owner, "'s"));
  }
  return unknown("our own did not come");
}

}  // namespace argosy::tf
