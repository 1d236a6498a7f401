// Relay: copies bytes between the strangers' connections and gRPC, and checks their frames (Http2Guard). One thread. A
// connection that breaks a rule is closed on both sides and reported by `on_cut`. One for which memory runs out is
// closed without a report.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/base/status.h"
#include "argosy/rpc/gate/peer_address.h"

namespace argosy::tf {

class Relay {
 public:
  struct Options {
    std::int64_t unfinished_of_peer = 0, unfinished_in_all = 0;  // bytes
    // Called on the relay's thread when a client broke a rule of Http2Guard.
    std::function<void(const std::string& key, std::string_view why)> on_cut;
  };
  // RESOURCE_EXHAUSTED: no descriptor or thread is left.
  static Result<std::unique_ptr<Relay>> start(Options options);
  ~Relay();  // closes every connection

  // Takes ownership of a non-blocking socket. Returns the socket to pass to gRPC in its place. RESOURCE_EXHAUSTED: no
  // descriptor is left. `key`: AcceptGate::Arrival::key.
  Result<int> take(int socket, const PeerAddress& peer, const std::string& key);
  // Returns the peer whose relayed connection gRPC names "unix-abstract:00002". An address of no family: it is over.
  // nullopt: no name of a relayed connection.
  std::optional<PeerAddress> behind(std::string_view grpc_peer) const;

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
