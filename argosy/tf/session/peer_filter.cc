#include "argosy/tf/session/peer_filter.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace argosy::tf {

namespace {

struct Address {
  int family = 0;
  std::array<unsigned char, 16> bytes{};
  int bits() const { return family == AF_INET ? 32 : 128; }
};

std::optional<Address> parse_address(std::string_view text) {
  const std::string name(text);
  Address a;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, name.c_str(), a.bytes.data()) == 1) {
      a.family = family;
      return a;
    }
  }
  return std::nullopt;
}

bool same_prefix(const unsigned char* a, const unsigned char* b, int bits) {
  if (!std::equal(a, a + bits / 8, b)) return false;
  const int rest = bits % 8;
  return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

bool loopback(const Address& a) {
  if (a.family == AF_INET) return a.bytes[0] == 127;
  Address one{.family = AF_INET6};
  one.bytes[15] = 1;
  return a.bytes == one.bytes;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto address = parse_address(host);
  return address && loopback(*address);
}

Result<PeerFilter> PeerFilter::parse(const std::vector<std::string>& networks) {
  PeerFilter filter;
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const auto address = parse_address(std::string_view(text).substr(0, slash));
    Network network;
    bool good = address.has_value();
    if (good) {
      network = {address->family, address->bytes, address->bits()};
      if (slash != std::string::npos) {
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + slash + 1, end, network.bits);
        good = parsed.ec == std::errc() && parsed.ptr == end && network.bits >= 0 && network.bits <= address->bits();
      }
    }
    if (!good) return invalid_argument("'", text, "' is no network; wanted one like 10.0.0.0/8").with_id("ARG-USAGE");
    filter.networks_.push_back(network);
  }
  return filter;
}

bool PeerFilter::allows(std::string_view peer) const {
  if (peer.starts_with("unix:")) return true;
  const std::size_t kind = peer.find(':');
  const std::size_t port = peer.rfind(':');
  if (kind == std::string_view::npos || port <= kind) return false;
  std::string_view host = peer.substr(kind + 1, port - kind - 1);
  for (const std::string_view open : {"[", "%5B"}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view close : {"]", "%5D"}) {
    if (host.ends_with(close)) host.remove_suffix(close.size());
  }
  const auto address = parse_address(host);
  if (!address) return false;
  if (loopback(*address)) return true;
  return std::ranges::any_of(networks_, [&](const Network& n) {
    return n.family == address->family && same_prefix(n.address.data(), address->bytes.data(), n.bits);
  });
}

}  // namespace argosy::tf
