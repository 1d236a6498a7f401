// Which clients may come without a certificate: networks, and the address gRPC says a call came from.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::tf {

class PeerFilter {
 public:
  // "10.0.0.0/8", "192.168.1.7", "fd00::/8". INVALID_ARGUMENT: no network.
  static Result<PeerFilter> parse(const std::vector<std::string>& networks);

  // "ipv4:10.1.2.3:4711", "ipv6:%5B::1%5D:4711"; loopback is always allowed.
  bool allows(std::string_view peer) const;

 private:
  struct Network {
    int family = 0;
    std::array<unsigned char, 16> address{};
    int bits = 0;
  };
  std::vector<Network> networks_;
};

// "localhost", 127.x.x.x, ::1
bool is_loopback(std::string_view host);

}  // namespace argosy::tf
