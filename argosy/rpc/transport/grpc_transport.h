// GrpcTransport: a table of unary methods (rpc_method.h) behind an AcceptGate, served by gRPC.
// It also serves grpc.health.v1.Health/Check. Requests and responses stay in the memory that gRPC holds them in: no
// message is parsed here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/rpc/gate/accept_gate.h"
#include "argosy/rpc/transport/rpc_method.h"

namespace argosy::tf {

struct GrpcTransportOptions {
  std::string host;  // an address; "0.0.0.0" for all interfaces
  int port = 0;
  std::string cert_pem, key_pem, client_ca_pem;  // all or none: TLS 1.3 with certificates on both sides
  GateRules rules = {};
  // Limit on the bytes of unfinished messages from one stranger. All strangers together: twice that.
  std::int64_t unfinished_of_peer = 1ll << 30;
  std::function<std::string(const Status&)> error_text = {};  // the text of an error for clients; empty: its message
  std::function<void(std::size_t bytes)> on_response = {};    // before each response is sent; thread-safe; may be empty
};

// Thread-safe.
class GrpcTransport {
 public:
  // Starts to listen and serve. Handlers may be called until stop() has returned; their captures must live that long.
  static Result<std::unique_ptr<GrpcTransport>> start(std::vector<RpcMethod> methods, GrpcTransportOptions options);
  ~GrpcTransport();  // stops

  int port() const;
  int threads() const;  // number of threads that serve calls
  AcceptGate::Counts connections() const;
  // Refuses new calls. Cancels the calls that are still running after `grace`. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit GrpcTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
