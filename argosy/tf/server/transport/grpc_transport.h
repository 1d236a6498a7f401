// GrpcTransport: a SessionService behind an AcceptGate, served by gRPC, under the literal paths that TensorFlow's
// clients use
// (/tensorflow.MasterService/RunStep), and grpc.health.v1.Health/Check. Requests and responses stay what gRPC holds
// them in; no message is parsed here. Internal to the session server.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "argosy/rpc/gate/accept_gate.h"
#include "argosy/tf/server/service/session_service.h"

namespace argosy::tf {

struct GrpcTransportOptions {
  std::string host;  // an address, "0.0.0.0" among them
  int port = 0;
  std::string cert_pem, key_pem, client_ca_pem;  // all or none: TLS 1.3 with certificates on both sides
  GateRules rules = {};
  std::int64_t unfinished_of_peer =
      1ll << 30;  // bytes of messages that have not ended, of strangers; twice that in all
};

class GrpcTransport {
 public:
  // Listens when it returns. `service` outlives it.
  static Result<std::unique_ptr<GrpcTransport>> start(SessionService& service, GrpcTransportOptions options);
  ~GrpcTransport();  // stops

  int port() const;
  int threads() const;  // that serve calls now
  AcceptGate::Counts connections() const;
  // New calls are refused; those under way have `grace` to end, then they are cancelled. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit GrpcTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
