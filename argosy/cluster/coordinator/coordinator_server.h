// CoordinatorServer: serves a Coordinator at a port, and has the thread that calls Coordinator::tick().
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
  std::vector<std::string> insecure_networks;  // as JoinOptions::insecure_networks
  JobToken token;
  CoordinatorOptions job;
};

// Thread-safe.
class CoordinatorServer {
 public:
  // Listens at the first free address.
  // * ALREADY_EXISTS "ARG-CLUSTER-041": none is free.
  // * FAILED_PRECONDITION: the address is of another host.
  // * PERMISSION_DENIED: beyond loopback, no network was named ("ARG-CLUSTER-042"), or there is no token
  //   ("ARG-CLUSTER-043").
  static Result<std::unique_ptr<CoordinatorServer>> start(CoordinatorServerOptions options);
  // Tells every task the first cause, if there is one, and stops.
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
