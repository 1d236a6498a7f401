// PeerFilter: the networks whose clients may connect without a certificate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/rpc/gate/peer_address.h"

namespace argosy::tf {

class PeerFilter {
 public:
  // Parses networks such as "10.0.0.0/8", "192.168.1.7", "fd00::/8". INVALID_ARGUMENT: one is no network.
  static Result<PeerFilter> parse(const std::vector<std::string>& networks);

  bool names(const PeerAddress& peer) const;
  bool allows(const PeerAddress& peer) const { return peer.loopback() || names(peer); }

 private:
  struct Network {
    PeerAddress address;
    int bits = 0;
  };
  std::vector<Network> networks_;
};

// True for "localhost", 127.x.x.x and ::1.
bool is_loopback(std::string_view host);

}  // namespace argosy::tf
