// TlsGate: stands between AcceptGate and gRPC if clients need certificates. gRPC 1.51 accepts TLS 1.2 and has no option
// against it. So a connection goes to gRPC only after its first message offers TLS 1.3. One thread.
#pragma once

#include <functional>
#include <memory>

#include "argosy/base/status.h"

namespace argosy::tf {

class TlsGate {
 public:
  // `take` owns the sockets of clients that speak it, nothing of which is read; from the gate's thread.
  static Result<std::unique_ptr<TlsGate>> start(std::function<void(int socket)> take);
  ~TlsGate();  // closes what still waits

  void look_at(int socket);  // owned, does not block; closed after ten seconds of silence

 private:
  class Impl;
  explicit TlsGate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
