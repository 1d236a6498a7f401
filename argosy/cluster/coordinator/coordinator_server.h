// CoordinatorServer: the coordinator at a port, with the thread that lets its time pass.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "argosy/cluster/coordinator/coordinator.h"
#include "argosy/cluster/job_file.h"
#include "argosy/cluster/job_token.h"
#include "argosy/rpc/transport/grpc_transport.h"

namespace argosy {

struct CoordinatorServerOptions {
  std::vector<std::string> addresses;          // "host:port", tried in turn; port 0: any
  std::vector<std::string> insecure_networks;  // beyond loopback, as JoinOptions has them
  JobToken token;
  CoordinatorOptions job;
};

// Thread-safe.
class CoordinatorServer {
 public:
  // Listens at the first address that is free. ALREADY_EXISTS "ARG-CLUSTER-041": none is. FAILED_PRECONDITION: the host is
  // another one.
  // PERMISSION_DENIED "ARG-CLUSTER-042": beyond loopback without a named network, or "ARG-CLUSTER-043": without a token.
  static Result<std::unique_ptr<CoordinatorServer>> start(CoordinatorServerOptions options);
  // Tells everyone the cause, if there is one, and stops.
  ~CoordinatorServer();

  Coordinator& coordinator() { return *coordinator_; }
  const std::string& address() const { return address_; }  // "10.0.0.1:29500"

 private:
  CoordinatorServer() = default;
  std::shared_ptr<Coordinator> coordinator_;
  std::unique_ptr<tf::GrpcTransport> transport_;
  std::string address_;
  std::unique_ptr<JobFile> file_;
  std::atomic<bool> stopping_{false};
  std::thread ticks_;
};

}  // namespace argosy
