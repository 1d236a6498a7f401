// StatusPageServer: serves /metrics (Prometheus), /statusz (for humans) and /healthz at an HTTP port. Internal to the
// session server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/rpc/gate/accept_gate.h"

namespace argosy::tf {

class StatusPageServer {
 public:
  using Page = std::function<std::string()>;  // called from the server's threads

  // Port 0: any free one. A connection carries one request, which must arrive within two seconds.
  // Errors: UNAVAILABLE, the port is taken; RESOURCE_EXHAUSTED, no thread or memory is left.
  static Result<std::unique_ptr<StatusPageServer>> start(const std::string& host, int port, const GateRules& rules,
                                                         Page metrics, Page statusz);
  ~StatusPageServer();
  int port() const;

 private:
  class Impl;
  explicit StatusPageServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
