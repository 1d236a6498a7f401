// TlsGate: lets only TLS 1.3 connections through to gRPC. It stands between AcceptGate and gRPC where clients need
// certificates. gRPC 1.51 accepts TLS 1.2 as well and has no option against it. So the gate looks at a connection's
// first message and hands the connection over when the client offers TLS 1.3. One thread.
#pragma once

#include <functional>
#include <memory>

#include "argosy/base/status.h"

namespace argosy::tf {

class TlsGate {
 public:
  // `take` is called on the gate's thread and owns the sockets of TLS 1.3 clients. The gate consumes none of their
  // bytes. An exception of `take` is logged. Error: RESOURCE_EXHAUSTED, no descriptor, thread or memory is left.
  static Result<std::unique_ptr<TlsGate>> start(std::function<void(int socket)> take);
  ~TlsGate();  // closes the connections that are still being checked

  // Takes ownership of the socket and returns at once. A connection is closed if its first message is not complete
  // after ten seconds, or if memory runs out.
  void look_at(int socket);

 private:
  class Impl;
  explicit TlsGate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
