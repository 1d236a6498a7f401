// PeerAddress: the address and port of the other end of a connection.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace argosy::tf {

struct PeerAddress {
  int family = 0;  // AF_INET or AF_INET6; an IPv4-mapped IPv6 address is AF_INET
  std::array<unsigned char, 16> bytes{};
  int port = 0;

  int bits() const;
  bool loopback() const;
  std::string to_string() const;  // without the port
  auto operator<=>(const PeerAddress&) const = default;
};

// Parses "10.1.2.3" or "fd00::1"; the port is 0. nullopt: no address.
std::optional<PeerAddress> parse_address(std::string_view text);
// Parses gRPC's name of a peer: "ipv4:10.1.2.3:4711", "ipv6:[::1]:4711", "ipv6:%5B::1%5D:4711". nullopt: another form.
std::optional<PeerAddress> parse_peer(std::string_view text);
// nullopt: neither IPv4 nor IPv6.
std::optional<PeerAddress> to_address(const sockaddr* address);

}  // namespace argosy::tf
