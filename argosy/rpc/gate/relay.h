// Relay: checks the frames of other users' clients (Http2Guard) before gRPC gets them. One thread. A connection that
// breaks a rule is closed on both sides and reported by `on_cut`; so, without a report, is one for which memory runs out.
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
    // A client broke a rule of Http2Guard: from the relay's thread.
    std::function<void(const std::string& key, std::string_view why)> on_cut;
  };
  // RESOURCE_EXHAUSTED: no descriptor or thread is left.
  static Result<std::unique_ptr<Relay>> start(Options options);
  ~Relay();  // closes every connection

  // Owns `socket`, which does not block. Returns what to give to gRPC instead; RESOURCE_EXHAUSTED: no descriptor left.
  // `key`: what connections of one peer have in common.
  Result<int> take(int socket, const PeerAddress& peer, const std::string& key);
  // The peer behind a connection that gRPC names "unix-abstract:00002"; nobody's address where it is over.
  std::optional<PeerAddress> behind(std::string_view grpc_peer) const;

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
