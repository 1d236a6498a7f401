#include "argosy/rpc/gate/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace argosy::tf {

namespace {

// ::ffff:a.b.c.d is a.b.c.d.
PeerAddress plain(PeerAddress a) {
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (a.family != AF_INET6 || !std::equal(kMapped.begin(), kMapped.end(), a.bytes.begin())) return a;
  PeerAddress to{.family = AF_INET, .port = a.port};
  std::copy_n(a.bytes.begin() + 12, 4, to.bytes.begin());
  return to;
}

}  // namespace

int PeerAddress::bits() const { return family == AF_INET ? 32 : 128; }

bool PeerAddress::loopback() const {
  if (family == AF_INET) return bytes[0] == 127;
  std::array<unsigned char, 16> one{};
  one[15] = 1;
  return family == AF_INET6 && bytes == one;
}

std::string PeerAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = "?";
  (void)inet_ntop(family, bytes.data(), text, sizeof text);
  return text;
}

std::optional<PeerAddress> parse_address(std::string_view text) {
  const std::string name(text);
  PeerAddress a;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, name.c_str(), a.bytes.data()) == 1) {
      a.family = family;
      return plain(a);
    }
  }
  return std::nullopt;
}

std::optional<PeerAddress> parse_peer(std::string_view peer) {
  const std::size_t kind = peer.find(':'), at = peer.rfind(':');
  if (kind == std::string_view::npos || at <= kind) return std::nullopt;
  std::string_view host = peer.substr(kind + 1, at - kind - 1);
  for (const std::string_view open : {"[", "%5B"}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view close : {"]", "%5D"}) {
    if (host.ends_with(close)) host.remove_suffix(close.size());
  }
  auto address = parse_address(host);
  if (!address) return std::nullopt;
  const char* const end = peer.data() + peer.size();
  const auto parsed = std::from_chars(peer.data() + at + 1, end, address->port);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return address;
}

std::optional<PeerAddress> to_address(const sockaddr* address) {
  PeerAddress a{.family = address->sa_family};
  if (a.family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    const auto* const from = reinterpret_cast<const unsigned char*>(&v4->sin_addr);
    std::copy_n(from, 4, a.bytes.begin());
    a.port = ntohs(v4->sin_port);
    return a;
  }
  if (a.family != AF_INET6) return std::nullopt;
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
  std::copy_n(v6->sin6_addr.s6_addr, 16, a.bytes.begin());
  a.port = ntohs(v6->sin6_port);
  return plain(a);
}

}  // namespace argosy::tf
