// AcceptGate: a listening socket that decides who may connect, before a byte is read: by the peer's address, by its
// user on loopback, by the number of connections. A connection that is let in goes to `take`. Any other is sent the
// reason, if the protocol has words for it, and closed. When descriptors run out, accepting goes on as soon as there
// are some.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "argosy/rpc/gate/client_link.h"
#include "argosy/rpc/gate/peer_filter.h"

namespace argosy::tf {

// Who may connect and how often; the same for calls and for status pages.
struct GateRules {
  bool filter = false;        // else every address may
  PeerFilter networks = {};   // those that may, besides loopback
  bool own_user_only = true;  // on loopback: this process's user and root
  int most = 0;               // connections; 0: as the limit of descriptors has it, 4096 at most
  int most_of_peer = 0;       // of one address (IPv6: one /64), on loopback of one user; 0: half of `most`
  bool certificates = false;  // TLS finds out who they are later: no peer is a stranger here
};

// A connection that was let in.
class GatedConnection final : public ClientLink {
 public:
  std::int64_t gone_at() const override { return gone_at_.load(std::memory_order_acquire); }

 private:
  friend class AcceptGate;
  std::atomic<std::int64_t> gone_at_{0};
};

// A GOAWAY frame with the reason, for gRPC's clients that are not let in. For Options::refusal.
std::string http2_refusal(std::string_view reason);

class AcceptGate {
 public:
  struct Arrival {
    PeerAddress peer;
    std::string key;        // equal for all connections of one peer
    bool stranger = false;  // no program of our own user's, and without a certificate
  };
  // Owns the socket, which does not block. Must shut it down before closing it.
  using Take = std::function<void(int socket, const Arrival& from)>;
  struct Options {
    std::string host;  // an address
    int port = 0;
    GateRules rules = {};
    // Makes the bytes that a refused peer is sent, from the reason. Null: nothing is sent.
    std::string (*refusal)(std::string_view reason) = nullptr;
  };
  struct Counts {
    std::int64_t let_in = 0, shut_out = 0, over_limit = 0, no_descriptor = 0, punished = 0;
    int open = 0;
  };

  // Listens when it returns; lets nobody in before open(). UNAVAILABLE: the port is taken, or none of this machine's;
  // or whose connections these are cannot be told here.
  static Result<std::unique_ptr<AcceptGate>> listen(const Options& options);
  ~AcceptGate();  // closes
  // Starts the gate's thread, which calls `take`. Throws std::system_error when the system has no thread left. The
  // thread logs what `take` throws, and continues.
  void open(Take take);
  void close();  // lets no one else in; open connections stay. Idempotent.

  int port() const;
  Counts counts() const;
  // Its connection had to be cut: it is not let in for a second, the next time for two, and so on to a minute.
  void punish(const std::string& key, std::string_view why);
  // The connection of this peer, by address and port. Where none is open, one that is gone since now: a peer that was
  // heard came through this gate.
  std::shared_ptr<GatedConnection> find(const PeerAddress& peer) const;

 private:
  class Impl;
  explicit AcceptGate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
