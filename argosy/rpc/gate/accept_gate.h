// AcceptGate: a listening socket that decides who may connect, before a byte is read: by the peer's address, by its
// user on loopback, by the number of connections. An admitted connection is passed to `take`. A refused one is sent the
// reason (Options::refusal) and closed. When file descriptors run out, it refuses connections until some are free.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "argosy/rpc/gate/client_link.h"
#include "argosy/rpc/gate/peer_filter.h"

namespace argosy::tf {

// Who may connect, and how many connections. The RPC port and the status pages each have such rules.
struct GateRules {
  bool filter = false;        // true: only `networks` and loopback may connect; false: every address
  PeerFilter networks = {};   // used if `filter`
  bool own_user_only = true;  // on loopback, only this process's user and root
  int most = 0;               // open connections; 0: as many as the descriptor limit allows, at most 4096
  int most_of_peer = 0;       // open connections of one address (IPv6: /64) or local user; 0: half of `most`
  bool certificates = false;  // TLS authenticates the clients later: no peer is a stranger here
};

// An admitted connection.
class GatedConnection final : public ClientLink {
 public:
  std::int64_t gone_at() const override { return gone_at_.load(std::memory_order_acquire); }

 private:
  friend class AcceptGate;
  std::atomic<std::int64_t> gone_at_{0};
};

// Returns an HTTP/2 GOAWAY frame with the reason, for refused gRPC clients. For Options::refusal.
std::string http2_refusal(std::string_view reason);

class AcceptGate {
 public:
  struct Arrival {
    PeerAddress peer;
    std::string key;        // of the peer: equal for all its connections
    bool stranger = false;  // not known to be a process of our user or root, and no certificate will be asked for
  };
  // Receives an admitted, non-blocking socket, and owns it. It must call shutdown() on the socket before closing it.
  using Take = std::function<void(int socket, const Arrival& from)>;
  struct Options {
    std::string host;  // an address
    int port = 0;
    GateRules rules = {};
    // Returns the bytes to send to a refused peer. Null: nothing is sent.
    std::string (*refusal)(std::string_view reason) = nullptr;
  };
  struct Counts {
    std::int64_t let_in = 0, shut_out = 0, over_limit = 0, no_descriptor = 0, punished = 0;
    int open = 0;
  };

  // Binds and listens; admits no connection before open(). UNAVAILABLE: the port is taken, the address is not this
  // machine's, or the users of local connections cannot be found out here (check_owners()).
  static Result<std::unique_ptr<AcceptGate>> listen(const Options& options);
  ~AcceptGate();  // closes
  // Starts the gate's thread, which calls `take`. Throws std::system_error when the system has no thread left. The
  // thread logs what `take` throws, and continues.
  void open(Take take);
  void close();  // admits no more connections; open ones stay. Idempotent.

  int port() const;
  Counts counts() const;
  // Refuses new connections of this peer for a second after one of them was cut. Each further call doubles the time, up
  // to a minute.
  void punish(const std::string& key, std::string_view why);
  // Returns the connection of a peer, by address and port. If none is open, returns one whose gone_at() is now: whoever
  // asks has heard from the peer, so it was connected.
  std::shared_ptr<GatedConnection> find(const PeerAddress& peer) const;

 private:
  class Impl;
  explicit AcceptGate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
