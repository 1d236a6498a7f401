#include "argosy/rpc/gate/socket_owner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "argosy/base/str.h"

namespace argosy::tf {

namespace {

constexpr int kAnswerMillis = 200;

struct Closing {
  int descriptor;
  ~Closing() { ::close(descriptor); }
};

// Source and destination of the socket asked about, that is the other way round than of the one that was accepted.
void fill(const sockaddr_storage& peer, const sockaddr_storage& own, inet_diag_req_v2& request) {
  request.sdiag_family = static_cast<__u8>(peer.ss_family);
  if (peer.ss_family == AF_INET) {
    const auto& from = reinterpret_cast<const sockaddr_in&>(peer);
    const auto& to = reinterpret_cast<const sockaddr_in&>(own);
    request.id.idiag_sport = from.sin_port;
    request.id.idiag_dport = to.sin_port;
    std::memcpy(request.id.idiag_src, &from.sin_addr, 4);
    std::memcpy(request.id.idiag_dst, &to.sin_addr, 4);
  } else {
    const auto& from = reinterpret_cast<const sockaddr_in6&>(peer);
    const auto& to = reinterpret_cast<const sockaddr_in6&>(own);
    request.id.idiag_sport = from.sin6_port;
    request.id.idiag_dport = to.sin6_port;
    std::memcpy(request.id.idiag_src, &from.sin6_addr, 16);
    std::memcpy(request.id.idiag_dst, &to.sin6_addr, 16);
  }
}

Status no_answer(const char* what) {
  return unavailable("whose connection this is cannot be told: ", what, ": ", std::strerror(errno));
}

}  // namespace

Result<uid_t> owner_of_peer(int connection) {
  sockaddr_storage peer{}, own{};
  socklen_t peer_bytes = sizeof peer, own_bytes = sizeof own;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0 ||
      ::getsockname(connection, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0) {
    return not_found("the connection is closed");
  }
  if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return not_found("no TCP connection");

  const Closing netlink{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  if (netlink.descriptor < 0) return no_answer("no netlink socket");
  timeval limit{.tv_sec = 0, .tv_usec = kAnswerMillis * 1000};
  (void)::setsockopt(netlink.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);

  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  fill(peer, own, request.body);
  if (::send(netlink.descriptor, &request, sizeof request, 0) != sizeof request) return no_answer("send");

  alignas(nlmsghdr) char answer[4096];
  const ssize_t bytes = ::recv(netlink.descriptor, answer, sizeof answer, 0);
  if (bytes < static_cast<ssize_t>(sizeof(nlmsghdr))) return no_answer("receive");
  const auto* const header = reinterpret_cast<const nlmsghdr*>(answer);
  if (header->nlmsg_type == NLMSG_ERROR) return not_found("no socket of this machine is at the other end");
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) {
    errno = EPROTO;
    return no_answer("answer");
  }
  const auto* const found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  // A socket that its owner has closed has no inode, and the kernel gives 0 (root!) for its user.
  if (found->idiag_inode == 0) return not_found("the other end is closed already");
  return static_cast<uid_t>(found->idiag_uid);
}

}  // namespace argosy::tf
